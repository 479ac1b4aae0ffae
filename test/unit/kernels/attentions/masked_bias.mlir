module @jit_masked_bias attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x20x16xf16>, %arg1: tensor<2x4x24x16xf16>, %arg2: tensor<2x4x24x16xf16>, %arg3: tensor<4x20x24xf16>, %arg4: tensor<2x24xi1>) -> (tensor<2x4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [0, 3] : (tensor<2x24xi1>) -> tensor<2x1x1x24xi1>
    %1 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x16xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x4x20x24xf32>
    %4 = stablehlo.broadcast_in_dim %arg3, dims = [1, 2, 3] : (tensor<4x20x24xf16>) -> tensor<1x4x20x24xf16>
    %5 = stablehlo.convert %4 : (tensor<1x4x20x24xf16>) -> tensor<1x4x20x24xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x4x20x24xf32>) -> tensor<2x4x20x24xf32>
    %7 = stablehlo.add %3, %6 : tensor<2x4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = call @_where(%0, %7, %cst_0) : (tensor<2x1x1x24xi1>, tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20x24xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %11 = stablehlo.maximum %10, %9 : tensor<2x4x20xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %14 = stablehlo.subtract %8, %13 : tensor<2x4x20x24xf32>
    %15 = stablehlo.exponential %14 : tensor<2x4x20x24xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %19 = stablehlo.divide %15, %18 : tensor<2x4x20x24xf32>
    %20 = stablehlo.convert %19 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %21 = stablehlo.dot_general %20, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x24xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x16xf32>
    %22 = stablehlo.convert %21 : (tensor<2x4x20x16xf32>) -> tensor<2x4x20x16xf16>
    return %22 : tensor<2x4x20x16xf16>
  }
  func.func private @_where(%arg0: tensor<2x1x1x24xi1>, %arg1: tensor<2x4x20x24xf32>, %arg2: tensor<f32>) -> tensor<2x4x20x24xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x1x24xi1>) -> tensor<2x4x20x24xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x20x24xi1>, tensor<2x4x20x24xf32>
    return %3 : tensor<2x4x20x24xf32>
  }
}
