module @jit_biased attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x24x4x16xf16>, %arg2: tensor<2x24x4x16xf16>, %arg3: tensor<2x1x1x24xf32>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x24x4x16xf16>) -> tensor<2x4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x4x20x24xf32>
    %3 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 2, 3] : (tensor<2x1x1x24xf32>) -> tensor<2x4x20x24xf32>
    %4 = stablehlo.add %2, %3 : tensor<2x4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %7 = stablehlo.maximum %6, %5 : tensor<2x4x20xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %10 = stablehlo.subtract %4, %9 : tensor<2x4x20x24xf32>
    %11 = stablehlo.exponential %10 : tensor<2x4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %15 = stablehlo.divide %11, %14 : tensor<2x4x20x24xf32>
    %16 = stablehlo.convert %15 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %17 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x24x4x16xf16>, tensor<2x4x20x24xf16>) -> tensor<2x4x16x20xf32>
    %18 = stablehlo.transpose %17, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %19 = stablehlo.convert %18 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %19 : tensor<2x20x4x16xf16>
  }
}
