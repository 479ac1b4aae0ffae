module @jit_twice attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<300x64xf16>, %arg1: tensor<64x256xf16>, %arg2: tensor<256xf16>, %arg3: tensor<300x256xf16>) -> (tensor<300x64xf16> {jax.result_info = "result[0]"}, tensor<300x256xf16> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<300x64xf16>, tensor<64x256xf16>) -> tensor<300x256xf32>
    %1 = stablehlo.convert %0 : (tensor<300x256xf32>) -> tensor<300x256xf16>
    %2 = stablehlo.convert %1 : (tensor<300x256xf16>) -> tensor<300x256xf32>
    %3 = chlo.square %2 : tensor<300x256xf32> -> tensor<300x256xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<300x256xf32>, tensor<f32>) -> tensor<300xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<300xf32>) -> tensor<300x1xf32>
    %cst_0 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<300x1xf32>
    %7 = stablehlo.divide %5, %6 : tensor<300x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<300x1xf32>
    %9 = stablehlo.add %7, %8 : tensor<300x1xf32>
    %10 = stablehlo.rsqrt %9 : tensor<300x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<300x1xf32>) -> tensor<300x256xf32>
    %12 = stablehlo.multiply %2, %11 : tensor<300x256xf32>
    %13 = stablehlo.convert %12 : (tensor<300x256xf32>) -> tensor<300x256xf16>
    %14 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<256xf16>) -> tensor<1x256xf16>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<1x256xf16>) -> tensor<300x256xf16>
    %16 = stablehlo.multiply %13, %15 : tensor<300x256xf16>
    %17 = stablehlo.add %arg3, %16 : tensor<300x256xf16>
    %18 = stablehlo.convert %17 : (tensor<300x256xf16>) -> tensor<300x256xf32>
    %19 = chlo.square %18 : tensor<300x256xf32> -> tensor<300x256xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<300x256xf32>, tensor<f32>) -> tensor<300xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<300xf32>) -> tensor<300x1xf32>
    %cst_3 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<300x1xf32>
    %23 = stablehlo.divide %21, %22 : tensor<300x1xf32>
    %cst_4 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<300x1xf32>
    %25 = stablehlo.add %23, %24 : tensor<300x1xf32>
    %26 = stablehlo.rsqrt %25 : tensor<300x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<300x1xf32>) -> tensor<300x256xf32>
    %28 = stablehlo.multiply %18, %27 : tensor<300x256xf32>
    %29 = stablehlo.convert %28 : (tensor<300x256xf32>) -> tensor<300x256xf16>
    %30 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<256xf16>) -> tensor<1x256xf16>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1] : (tensor<1x256xf16>) -> tensor<300x256xf16>
    %32 = stablehlo.multiply %29, %31 : tensor<300x256xf16>
    %33 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<64x256xf16>) -> tensor<256x64xf16>
    %34 = stablehlo.dot_general %32, %33, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<300x256xf16>, tensor<256x64xf16>) -> tensor<300x64xf16>
    return %34, %17 : tensor<300x64xf16>, tensor<300x256xf16>
  }
}
