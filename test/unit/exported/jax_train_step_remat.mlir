module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<8x32xf32>) -> (tensor<32x32xf32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.tanh %0 : tensor<8x32xf32>
    %2 = stablehlo.dot_general %1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    %3 = stablehlo.tanh %2 : tensor<8x32xf32>
    %4 = chlo.square %3 : tensor<8x32xf32> -> tensor<8x32xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %6 = stablehlo.multiply %5, %3 : tensor<8x32xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %8 = stablehlo.divide %7, %cst_1 : tensor<f32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %9 = stablehlo.divide %cst_2, %cst_3 : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %11 = stablehlo.multiply %10, %6 : tensor<8x32xf32>
    %12:3 = stablehlo.optimization_barrier %arg0, %1, %11 : tensor<32x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
    %13 = stablehlo.dot_general %12#1, %12#0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    %14 = stablehlo.tanh %13 : tensor<8x32xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %16 = stablehlo.subtract %15, %14 : tensor<8x32xf32>
    %17 = stablehlo.multiply %12#2, %16 : tensor<8x32xf32>
    %18 = stablehlo.multiply %17, %14 : tensor<8x32xf32>
    %19 = stablehlo.add %17, %18 : tensor<8x32xf32>
    %20 = stablehlo.dot_general %19, %12#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
    %21 = stablehlo.transpose %20, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %22 = stablehlo.dot_general %19, %12#0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    %23:3 = stablehlo.optimization_barrier %arg0, %arg1, %22 : tensor<32x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
    %24 = stablehlo.dot_general %23#1, %23#0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    %25 = stablehlo.tanh %24 : tensor<8x32xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %27 = stablehlo.subtract %26, %25 : tensor<8x32xf32>
    %28 = stablehlo.multiply %23#2, %27 : tensor<8x32xf32>
    %29 = stablehlo.multiply %28, %25 : tensor<8x32xf32>
    %30 = stablehlo.add %28, %29 : tensor<8x32xf32>
    %31 = stablehlo.dot_general %30, %23#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
    %32 = stablehlo.transpose %31, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %33 = stablehlo.add %21, %32 : tensor<32x32xf32>
    %cst_6 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %35 = stablehlo.multiply %34, %33 : tensor<32x32xf32>
    %36 = stablehlo.subtract %arg0, %35 : tensor<32x32xf32>
    return %36, %8 : tensor<32x32xf32>, tensor<f32>
  }
}
