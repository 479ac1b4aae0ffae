module @jit_biased attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x24x4x16xf16>, %arg2: tensor<2x24x4x16xf16>, %arg3: tensor<1x4x20x24xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x24x4x16xf16>) -> tensor<2x4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x4x20x24xf32>
    %3 = stablehlo.convert %arg3 : (tensor<1x4x20x24xf16>) -> tensor<1x4x20x24xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x4x20x24xf32>) -> tensor<2x4x20x24xf32>
    %5 = stablehlo.add %2, %4 : tensor<2x4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<2x4x20xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<2x4x20x24xf32>
    %12 = stablehlo.exponential %11 : tensor<2x4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %16 = stablehlo.divide %12, %15 : tensor<2x4x20x24xf32>
    %17 = stablehlo.convert %16 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %18 = stablehlo.dot_general %arg2, %17, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x24x4x16xf16>, tensor<2x4x20x24xf16>) -> tensor<2x4x16x20xf32>
    %19 = stablehlo.transpose %18, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %20 = stablehlo.convert %19 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %20 : tensor<2x20x4x16xf16>
  }
}
