module @jit_fused_keys attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x64xf16>, %arg1: tensor<2x24x128xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg1 [0:2, 0:24, 0:64] : (tensor<2x24x128xf16>) -> tensor<2x24x64xf16>
    %1 = stablehlo.slice %arg1 [0:2, 0:24, 64:128] : (tensor<2x24x128xf16>) -> tensor<2x24x64xf16>
    %2 = stablehlo.reshape %arg0 : (tensor<2x20x64xf16>) -> tensor<2x20x4x16xf16>
    %3 = stablehlo.reshape %0 : (tensor<2x24x64xf16>) -> tensor<2x24x4x16xf16>
    %4 = stablehlo.reshape %1 : (tensor<2x24x64xf16>) -> tensor<2x24x4x16xf16>
    %5 = stablehlo.dot_general %2, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x24x4x16xf16>) -> tensor<2x4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %7 = stablehlo.multiply %5, %6 : tensor<2x4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<2x4x20xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<2x4x20x24xf32>
    %14 = stablehlo.exponential %13 : tensor<2x4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %18 = stablehlo.divide %14, %17 : tensor<2x4x20x24xf32>
    %19 = stablehlo.convert %18 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %20 = stablehlo.dot_general %4, %19, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x24x4x16xf16>, tensor<2x4x20x24xf16>) -> tensor<2x4x16x20xf32>
    %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %22 = stablehlo.convert %21 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %22 : tensor<2x20x4x16xf16>
  }
}
