module @jit_fused_grouped attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x128xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:2, 0:20, 0:64] : (tensor<2x20x128xf16>) -> tensor<2x20x64xf16>
    %1 = stablehlo.slice %arg0 [0:2, 0:20, 64:96] : (tensor<2x20x128xf16>) -> tensor<2x20x32xf16>
    %2 = stablehlo.slice %arg0 [0:2, 0:20, 96:128] : (tensor<2x20x128xf16>) -> tensor<2x20x32xf16>
    %3 = stablehlo.reshape %0 : (tensor<2x20x64xf16>) -> tensor<2x20x4x16xf16>
    %4 = stablehlo.reshape %1 : (tensor<2x20x32xf16>) -> tensor<2x20x2x16xf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 4] : (tensor<2x20x2x16xf16>) -> tensor<2x20x2x2x16xf16>
    %6 = stablehlo.reshape %5 : (tensor<2x20x2x2x16xf16>) -> tensor<2x20x4x16xf16>
    %7 = stablehlo.reshape %2 : (tensor<2x20x32xf16>) -> tensor<2x20x2x16xf16>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 4] : (tensor<2x20x2x16xf16>) -> tensor<2x20x2x2x16xf16>
    %9 = stablehlo.reshape %8 : (tensor<2x20x2x2x16xf16>) -> tensor<2x20x4x16xf16>
    %10 = stablehlo.dot_general %3, %6, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %12 = stablehlo.multiply %10, %11 : tensor<2x4x20x20xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %15 = stablehlo.maximum %14, %13 : tensor<2x4x20xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %18 = stablehlo.subtract %12, %17 : tensor<2x4x20x20xf32>
    %19 = stablehlo.exponential %18 : tensor<2x4x20x20xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %23 = stablehlo.divide %19, %22 : tensor<2x4x20x20xf32>
    %24 = stablehlo.convert %23 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %25 = stablehlo.dot_general %9, %24, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %26 = stablehlo.transpose %25, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %27 = stablehlo.convert %26 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %27 : tensor<2x20x4x16xf16>
  }
}
