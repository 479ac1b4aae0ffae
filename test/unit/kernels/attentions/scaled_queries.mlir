module @jit_scaled attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x24x4x16xf16>, %arg2: tensor<2x24x4x16xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x20x4x16xf16>) -> tensor<2x4x20x16xf16>
    %1 = stablehlo.transpose %arg1, dims = [0, 2, 1, 3] : (tensor<2x24x4x16xf16>) -> tensor<2x4x24x16xf16>
    %2 = stablehlo.transpose %arg2, dims = [0, 2, 1, 3] : (tensor<2x24x4x16xf16>) -> tensor<2x4x24x16xf16>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f16>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x4x20x16xf16>
    %4 = stablehlo.multiply %0, %3 : tensor<2x4x20x16xf16>
    %5 = stablehlo.dot_general %4, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x16xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x24xf32>
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
    %18 = stablehlo.dot_general %17, %2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x24xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x16xf32>
    %19 = stablehlo.convert %18 : (tensor<2x4x20x16xf32>) -> tensor<2x4x20x16xf16>
    %20 = stablehlo.transpose %19, dims = [0, 2, 1, 3] : (tensor<2x4x20x16xf16>) -> tensor<2x20x4x16xf16>
    return %20 : tensor<2x20x4x16xf16>
  }
}
