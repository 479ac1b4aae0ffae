module @jit_fused_five attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x192xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x20x192xf16>) -> tensor<2x20x3x4x16xf16>
    %1 = stablehlo.slice %0 [0:2, 0:20, 0:1, 0:4, 0:16] : (tensor<2x20x3x4x16xf16>) -> tensor<2x20x1x4x16xf16>
    %2 = stablehlo.reshape %1 : (tensor<2x20x1x4x16xf16>) -> tensor<2x20x4x16xf16>
    %3 = stablehlo.slice %0 [0:2, 0:20, 1:2, 0:4, 0:16] : (tensor<2x20x3x4x16xf16>) -> tensor<2x20x1x4x16xf16>
    %4 = stablehlo.reshape %3 : (tensor<2x20x1x4x16xf16>) -> tensor<2x20x4x16xf16>
    %5 = stablehlo.slice %0 [0:2, 0:20, 2:3, 0:4, 0:16] : (tensor<2x20x3x4x16xf16>) -> tensor<2x20x1x4x16xf16>
    %6 = stablehlo.reshape %5 : (tensor<2x20x1x4x16xf16>) -> tensor<2x20x4x16xf16>
    %7 = stablehlo.dot_general %2, %4, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %9 = stablehlo.multiply %7, %8 : tensor<2x4x20x20xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %12 = stablehlo.maximum %11, %10 : tensor<2x4x20xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %15 = stablehlo.subtract %9, %14 : tensor<2x4x20x20xf32>
    %16 = stablehlo.exponential %15 : tensor<2x4x20x20xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %20 = stablehlo.divide %16, %19 : tensor<2x4x20x20xf32>
    %21 = stablehlo.convert %20 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %22 = stablehlo.dot_general %6, %21, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %23 = stablehlo.transpose %22, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %24 = stablehlo.convert %23 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %24 : tensor<2x20x4x16xf16>
  }
}
