module @jit_repeated attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x1x4x16xf16>, %arg1: tensor<1x24x2x16xf16>, %arg2: tensor<1x24x2x16xf16>) -> (tensor<1x1x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<1x24x2x16xf16>) -> tensor<1x24x2x2x16xf16>
    %1 = stablehlo.reshape %0 : (tensor<1x24x2x2x16xf16>) -> tensor<1x24x4x16xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<1x24x2x16xf16>) -> tensor<1x24x2x2x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<1x24x2x2x16xf16>) -> tensor<1x24x4x16xf16>
    %4 = stablehlo.dot_general %arg0, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1x4x16xf16>, tensor<1x24x4x16xf16>) -> tensor<1x4x1x24xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4x1x24xf32>
    %6 = stablehlo.divide %4, %5 : tensor<1x4x1x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x1x24xf32>, tensor<f32>) -> tensor<1x4x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x4x1xf32>
    %9 = stablehlo.maximum %8, %7 : tensor<1x4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x4x1xf32>) -> tensor<1x4x1x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x24xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<1x4x1x24xf32>
    %13 = stablehlo.exponential %12 : tensor<1x4x1x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<1x4x1x24xf32>, tensor<f32>) -> tensor<1x4x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<1x4x1xf32>) -> tensor<1x4x1x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x24xf32>
    %17 = stablehlo.divide %13, %16 : tensor<1x4x1x24xf32>
    %18 = stablehlo.convert %17 : (tensor<1x4x1x24xf32>) -> tensor<1x4x1x24xf16>
    %19 = stablehlo.dot_general %3, %18, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x24x4x16xf16>, tensor<1x4x1x24xf16>) -> tensor<1x4x16x1xf32>
    %20 = stablehlo.transpose %19, dims = [0, 3, 1, 2] : (tensor<1x4x16x1xf32>) -> tensor<1x1x4x16xf32>
    %21 = stablehlo.convert %20 : (tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf16>
    return %21 : tensor<1x1x4x16xf16>
  }
}
