module @jit_later_bias attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4x16xf16>, %arg1: tensor<2x40x4x16xf16>, %arg2: tensor<2x40x4x16xf16>, %arg3: tensor<2x3x4x16xf16>, %arg4: tensor<2x3x4x16xf16>, %arg5: tensor<2x1x1x43xf32>) -> (tensor<2x3x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.concatenate %arg1, %arg3, dim = 1 : (tensor<2x40x4x16xf16>, tensor<2x3x4x16xf16>) -> tensor<2x43x4x16xf16>
    %1 = stablehlo.concatenate %arg2, %arg4, dim = 1 : (tensor<2x40x4x16xf16>, tensor<2x3x4x16xf16>) -> tensor<2x43x4x16xf16>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 4] : (tensor<2x43x4x16xf16>) -> tensor<2x43x4x1x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<2x43x4x1x16xf16>) -> tensor<2x43x4x16xf16>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 4] : (tensor<2x43x4x16xf16>) -> tensor<2x43x4x1x16xf16>
    %5 = stablehlo.reshape %4 : (tensor<2x43x4x1x16xf16>) -> tensor<2x43x4x16xf16>
    %6 = stablehlo.dot_general %arg0, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4x16xf16>, tensor<2x43x4x16xf16>) -> tensor<2x4x3x43xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x3x43xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<2x4x3x43xf32>
    %9 = stablehlo.broadcast_in_dim %arg5, dims = [0, 1, 2, 3] : (tensor<2x1x1x43xf32>) -> tensor<2x4x3x43xf32>
    %10 = stablehlo.add %8, %9 : tensor<2x4x3x43xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x3x43xf32>, tensor<f32>) -> tensor<2x4x3xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<2x4x3xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x4x3xf32>) -> tensor<2x4x3x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x4x3x1xf32>) -> tensor<2x4x3x43xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<2x4x3x43xf32>
    %17 = stablehlo.exponential %16 : tensor<2x4x3x43xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x3x43xf32>, tensor<f32>) -> tensor<2x4x3xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<2x4x3xf32>) -> tensor<2x4x3x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x4x3x1xf32>) -> tensor<2x4x3x43xf32>
    %21 = stablehlo.divide %17, %20 : tensor<2x4x3x43xf32>
    %22 = stablehlo.convert %21 : (tensor<2x4x3x43xf32>) -> tensor<2x4x3x43xf16>
    %23 = stablehlo.dot_general %5, %22, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x43x4x16xf16>, tensor<2x4x3x43xf16>) -> tensor<2x4x16x3xf32>
    %24 = stablehlo.transpose %23, dims = [0, 3, 1, 2] : (tensor<2x4x16x3xf32>) -> tensor<2x3x4x16xf32>
    %25 = stablehlo.convert %24 : (tensor<2x3x4x16xf32>) -> tensor<2x3x4x16xf16>
    return %25 : tensor<2x3x4x16xf16>
  }
}
