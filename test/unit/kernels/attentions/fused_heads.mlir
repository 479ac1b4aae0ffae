module @jit_fused_heads attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x192xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x20x192xf16>) -> tensor<2x20x4x48xf16>
    %1 = stablehlo.slice %0 [0:2, 0:20, 0:4, 0:16] : (tensor<2x20x4x48xf16>) -> tensor<2x20x4x16xf16>
    %2 = stablehlo.slice %0 [0:2, 0:20, 0:4, 16:32] : (tensor<2x20x4x48xf16>) -> tensor<2x20x4x16xf16>
    %3 = stablehlo.slice %0 [0:2, 0:20, 0:4, 32:48] : (tensor<2x20x4x48xf16>) -> tensor<2x20x4x16xf16>
    %4 = stablehlo.dot_general %1, %2, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x4x20x20xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %9 = stablehlo.maximum %8, %7 : tensor<2x4x20xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<2x4x20x20xf32>
    %13 = stablehlo.exponential %12 : tensor<2x4x20x20xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %17 = stablehlo.divide %13, %16 : tensor<2x4x20x20xf32>
    %18 = stablehlo.convert %17 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %19 = stablehlo.dot_general %3, %18, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %20 = stablehlo.transpose %19, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %21 = stablehlo.convert %20 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %21 : tensor<2x20x4x16xf16>
  }
}
