module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x24x4x16xf16>, %arg2: tensor<2x24x4x16xf16>, %arg3: tensor<1x4x20x24xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x24x4x16xf16>) -> tensor<2x24x4x1x16xf16>
    %1 = stablehlo.reshape %0 : (tensor<2x24x4x1x16xf16>) -> tensor<2x24x4x16xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x24x4x16xf16>) -> tensor<2x24x4x1x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<2x24x4x1x16xf16>) -> tensor<2x24x4x16xf16>
    %4 = stablehlo.dot_general %arg0, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x24x4x16xf16>) -> tensor<2x4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x4x20x24xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %8 = stablehlo.divide %6, %7 : tensor<2x4x20x24xf32>
    %9 = stablehlo.tanh %8 : tensor<2x4x20x24xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<2x4x20x24xf32>
    %12 = stablehlo.convert %arg3 : (tensor<1x4x20x24xf16>) -> tensor<1x4x20x24xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x4x20x24xf32>) -> tensor<2x4x20x24xf32>
    %14 = stablehlo.add %11, %13 : tensor<2x4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %17 = stablehlo.maximum %16, %15 : tensor<2x4x20xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %20 = stablehlo.subtract %14, %19 : tensor<2x4x20x24xf32>
    %21 = stablehlo.exponential %20 : tensor<2x4x20x24xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.reduce(%21 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %25 = stablehlo.divide %21, %24 : tensor<2x4x20x24xf32>
    %26 = stablehlo.convert %25 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %27 = stablehlo.dot_general %3, %26, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x24x4x16xf16>, tensor<2x4x20x24xf16>) -> tensor<2x4x16x20xf32>
    %28 = stablehlo.transpose %27, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %29 = stablehlo.convert %28 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %29 : tensor<2x20x4x16xf16>
  }
}
