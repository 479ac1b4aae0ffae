module @jit_later_kept attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4x16xf16>, %arg1: tensor<2x40x2x16xf16>, %arg2: tensor<2x40x2x16xf16>, %arg3: tensor<2x3x2x16xf16>, %arg4: tensor<2x3x2x16xf16>) -> (tensor<2x3x4x16xf16> {jax.result_info = "result[0]"}, tensor<2x43x2x16xf16> {jax.result_info = "result[1]"}, tensor<2x43x2x16xf16> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.concatenate %arg1, %arg3, dim = 1 : (tensor<2x40x2x16xf16>, tensor<2x3x2x16xf16>) -> tensor<2x43x2x16xf16>
    %1 = stablehlo.concatenate %arg2, %arg4, dim = 1 : (tensor<2x40x2x16xf16>, tensor<2x3x2x16xf16>) -> tensor<2x43x2x16xf16>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 4] : (tensor<2x43x2x16xf16>) -> tensor<2x43x2x2x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<2x43x2x2x16xf16>) -> tensor<2x43x4x16xf16>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 4] : (tensor<2x43x2x16xf16>) -> tensor<2x43x2x2x16xf16>
    %5 = stablehlo.reshape %4 : (tensor<2x43x2x2x16xf16>) -> tensor<2x43x4x16xf16>
    %6 = stablehlo.dot_general %arg0, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4x16xf16>, tensor<2x43x4x16xf16>) -> tensor<2x4x3x43xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x3x43xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<2x4x3x43xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x3x43xf32>, tensor<f32>) -> tensor<2x4x3xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x3xf32>
    %11 = stablehlo.maximum %10, %9 : tensor<2x4x3xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x4x3xf32>) -> tensor<2x4x3x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x4x3x1xf32>) -> tensor<2x4x3x43xf32>
    %14 = stablehlo.subtract %8, %13 : tensor<2x4x3x43xf32>
    %15 = stablehlo.exponential %14 : tensor<2x4x3x43xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x3x43xf32>, tensor<f32>) -> tensor<2x4x3xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x4x3xf32>) -> tensor<2x4x3x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x4x3x1xf32>) -> tensor<2x4x3x43xf32>
    %19 = stablehlo.divide %15, %18 : tensor<2x4x3x43xf32>
    %20 = stablehlo.convert %19 : (tensor<2x4x3x43xf32>) -> tensor<2x4x3x43xf16>
    %21 = stablehlo.dot_general %5, %20, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x43x4x16xf16>, tensor<2x4x3x43xf16>) -> tensor<2x4x16x3xf32>
    %22 = stablehlo.transpose %21, dims = [0, 3, 1, 2] : (tensor<2x4x16x3xf32>) -> tensor<2x3x4x16xf32>
    %23 = stablehlo.convert %22 : (tensor<2x3x4x16xf32>) -> tensor<2x3x4x16xf16>
    return %23, %0, %1 : tensor<2x3x4x16xf16>, tensor<2x43x2x16xf16>, tensor<2x43x2x16xf16>
  }
}
