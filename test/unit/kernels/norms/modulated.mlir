module @jit_modulated attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x40x512xf16>, %arg1: tensor<4x1536xf16>, %arg2: tensor<512x16xf16>) -> (tensor<160x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<4x40x512xf16>) -> tensor<4x40x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x40x512xf32>, tensor<f32>) -> tensor<4x40xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x40xf32>) -> tensor<4x40x1xf32>
    %cst_0 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x40x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4x40x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<4x40x1xf32>) -> tensor<4x40x512xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<4x40x512xf32>
    %7 = chlo.square %6 : tensor<4x40x512xf32> -> tensor<4x40x512xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x40x512xf32>, tensor<f32>) -> tensor<4x40xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<4x40xf32>) -> tensor<4x40x1xf32>
    %cst_2 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x40x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<4x40x1xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<4x40x1xf32>) -> tensor<4x40x512xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<4x40x512xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x40x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<4x40x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<4x40x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<4x40x1xf32>) -> tensor<4x40x512xf32>
    %18 = stablehlo.multiply %13, %17 : tensor<4x40x512xf32>
    %19 = stablehlo.convert %18 : (tensor<4x40x512xf32>) -> tensor<4x40x512xf16>
    %20 = stablehlo.slice %arg1 [0:4, 512:1024] : (tensor<4x1536xf16>) -> tensor<4x512xf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 2] : (tensor<4x512xf16>) -> tensor<4x1x512xf16>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %22 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f16>) -> tensor<4x1x512xf16>
    %23 = stablehlo.add %22, %21 : tensor<4x1x512xf16>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<4x1x512xf16>) -> tensor<4x40x512xf16>
    %25 = stablehlo.multiply %19, %24 : tensor<4x40x512xf16>
    %26 = stablehlo.slice %arg1 [0:4, 0:512] : (tensor<4x1536xf16>) -> tensor<4x512xf16>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 2] : (tensor<4x512xf16>) -> tensor<4x1x512xf16>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<4x1x512xf16>) -> tensor<4x40x512xf16>
    %29 = stablehlo.add %25, %28 : tensor<4x40x512xf16>
    %30 = stablehlo.reshape %29 : (tensor<4x40x512xf16>) -> tensor<160x512xf16>
    %31 = stablehlo.dot_general %30, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<160x512xf16>, tensor<512x16xf16>) -> tensor<160x16xf16>
    return %31 : tensor<160x16xf16>
  }
}
