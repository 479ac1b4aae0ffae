module @jit_two_tables attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x20x16xf16>, %arg1: tensor<2x24x16xf16>, %arg2: tensor<2x24x16xf16>, %arg3: tensor<20x24xf32>, %arg4: tensor<4x24xf16>) -> (tensor<4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2, 3] : (tensor<2x24x16xf16>) -> tensor<2x2x24x16xf16>
    %1 = stablehlo.reshape %0 : (tensor<2x2x24x16xf16>) -> tensor<4x24x16xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2, 3] : (tensor<2x24x16xf16>) -> tensor<2x2x24x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<2x2x24x16xf16>) -> tensor<4x24x16xf16>
    %4 = stablehlo.dot_general %arg0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x20x16xf16>, tensor<4x24x16xf16>) -> tensor<4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x20x24xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<4x20x24xf32>
    %7 = stablehlo.broadcast_in_dim %arg3, dims = [1, 2] : (tensor<20x24xf32>) -> tensor<1x20x24xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x20x24xf32>) -> tensor<4x20x24xf32>
    %9 = stablehlo.add %6, %8 : tensor<4x20x24xf32>
    %10 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<4x24xf16>) -> tensor<4x1x24xf16>
    %11 = stablehlo.convert %10 : (tensor<4x1x24xf16>) -> tensor<4x1x24xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<4x1x24xf32>) -> tensor<4x20x24xf32>
    %13 = stablehlo.add %9, %12 : tensor<4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst_0) applies stablehlo.maximum across dimensions = [2] : (tensor<4x20x24xf32>, tensor<f32>) -> tensor<4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x20xf32>
    %16 = stablehlo.maximum %15, %14 : tensor<4x20xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x24xf32>
    %19 = stablehlo.subtract %13, %18 : tensor<4x20x24xf32>
    %20 = stablehlo.exponential %19 : tensor<4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<4x20x24xf32>, tensor<f32>) -> tensor<4x20xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x24xf32>
    %24 = stablehlo.divide %20, %23 : tensor<4x20x24xf32>
    %25 = stablehlo.convert %24 : (tensor<4x20x24xf32>) -> tensor<4x20x24xf16>
    %26 = stablehlo.dot_general %25, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x20x24xf16>, tensor<4x24x16xf16>) -> tensor<4x20x16xf32>
    %27 = stablehlo.convert %26 : (tensor<4x20x16xf32>) -> tensor<4x20x16xf16>
    return %27 : tensor<4x20x16xf16>
  }
}
