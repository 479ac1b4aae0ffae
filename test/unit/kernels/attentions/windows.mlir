module @jit_windows attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x4x20x16xf16>, %arg1: tensor<6x4x20x16xf16>, %arg2: tensor<6x4x20x16xf16>, %arg3: tensor<4x20x20xf16>, %arg4: tensor<3x20x20xf16>) -> (tensor<6x4x20x16xf16> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<6x4x20x16xf16>
    %1 = stablehlo.multiply %arg0, %0 : tensor<6x4x20x16xf16>
    %2 = stablehlo.dot_general %1, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<6x4x20x16xf16>, tensor<6x4x20x16xf16>) -> tensor<6x4x20x20xf32>
    %3 = stablehlo.broadcast_in_dim %arg3, dims = [1, 2, 3] : (tensor<4x20x20xf16>) -> tensor<1x4x20x20xf16>
    %4 = stablehlo.convert %3 : (tensor<1x4x20x20xf16>) -> tensor<1x4x20x20xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x4x20x20xf32>) -> tensor<6x4x20x20xf32>
    %6 = stablehlo.add %2, %5 : tensor<6x4x20x20xf32>
    %7 = stablehlo.reshape %6 : (tensor<6x4x20x20xf32>) -> tensor<2x3x4x20x20xf32>
    %8 = stablehlo.broadcast_in_dim %arg4, dims = [1, 3, 4] : (tensor<3x20x20xf16>) -> tensor<1x3x1x20x20xf16>
    %9 = stablehlo.convert %8 : (tensor<1x3x1x20x20xf16>) -> tensor<1x3x1x20x20xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3, 4] : (tensor<1x3x1x20x20xf32>) -> tensor<2x3x4x20x20xf32>
    %11 = stablehlo.add %7, %10 : tensor<2x3x4x20x20xf32>
    %12 = stablehlo.reshape %11 : (tensor<2x3x4x20x20xf32>) -> tensor<6x4x20x20xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<6x4x20x20xf32>, tensor<f32>) -> tensor<6x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x4x20xf32>
    %15 = stablehlo.maximum %14, %13 : tensor<6x4x20xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<6x4x20xf32>) -> tensor<6x4x20x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<6x4x20x1xf32>) -> tensor<6x4x20x20xf32>
    %18 = stablehlo.subtract %12, %17 : tensor<6x4x20x20xf32>
    %19 = stablehlo.exponential %18 : tensor<6x4x20x20xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<6x4x20x20xf32>, tensor<f32>) -> tensor<6x4x20xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<6x4x20xf32>) -> tensor<6x4x20x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<6x4x20x1xf32>) -> tensor<6x4x20x20xf32>
    %23 = stablehlo.divide %19, %22 : tensor<6x4x20x20xf32>
    %24 = stablehlo.convert %23 : (tensor<6x4x20x20xf32>) -> tensor<6x4x20x20xf16>
    %25 = stablehlo.dot_general %24, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<6x4x20x20xf16>, tensor<6x4x20x16xf16>) -> tensor<6x4x20x16xf32>
    %26 = stablehlo.convert %25 : (tensor<6x4x20x16xf32>) -> tensor<6x4x20x16xf16>
    return %26 : tensor<6x4x20x16xf16>
  }
}
