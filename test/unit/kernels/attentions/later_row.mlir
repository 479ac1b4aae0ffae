module @jit_later_row attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x1x4x16xf16>, %arg1: tensor<1x2x23x16xf16>, %arg2: tensor<1x2x23x16xf16>, %arg3: tensor<1x1x2x16xf16>, %arg4: tensor<1x1x2x16xf16>) -> (tensor<1x1x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.transpose %arg3, dims = [0, 2, 1, 3] : (tensor<1x1x2x16xf16>) -> tensor<1x2x1x16xf16>
    %1 = stablehlo.concatenate %arg1, %0, dim = 2 : (tensor<1x2x23x16xf16>, tensor<1x2x1x16xf16>) -> tensor<1x2x24x16xf16>
    %2 = stablehlo.transpose %arg4, dims = [0, 2, 1, 3] : (tensor<1x1x2x16xf16>) -> tensor<1x2x1x16xf16>
    %3 = stablehlo.concatenate %arg2, %2, dim = 2 : (tensor<1x2x23x16xf16>, tensor<1x2x1x16xf16>) -> tensor<1x2x24x16xf16>
    %4 = stablehlo.transpose %1, dims = [0, 2, 1, 3] : (tensor<1x2x24x16xf16>) -> tensor<1x24x2x16xf16>
    %5 = stablehlo.transpose %3, dims = [0, 2, 1, 3] : (tensor<1x2x24x16xf16>) -> tensor<1x24x2x16xf16>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 4] : (tensor<1x24x2x16xf16>) -> tensor<1x24x2x2x16xf16>
    %7 = stablehlo.reshape %6 : (tensor<1x24x2x2x16xf16>) -> tensor<1x24x4x16xf16>
    %8 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 4] : (tensor<1x24x2x16xf16>) -> tensor<1x24x2x2x16xf16>
    %9 = stablehlo.reshape %8 : (tensor<1x24x2x2x16xf16>) -> tensor<1x24x4x16xf16>
    %10 = stablehlo.dot_general %arg0, %7, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x1x4x16xf16>, tensor<1x24x4x16xf16>) -> tensor<1x4x1x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4x1x24xf32>
    %12 = stablehlo.multiply %10, %11 : tensor<1x4x1x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x1x24xf32>, tensor<f32>) -> tensor<1x4x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x4x1xf32>
    %15 = stablehlo.maximum %14, %13 : tensor<1x4x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x4x1xf32>) -> tensor<1x4x1x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x24xf32>
    %18 = stablehlo.subtract %12, %17 : tensor<1x4x1x24xf32>
    %19 = stablehlo.exponential %18 : tensor<1x4x1x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<1x4x1x24xf32>, tensor<f32>) -> tensor<1x4x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x4x1xf32>) -> tensor<1x4x1x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x24xf32>
    %23 = stablehlo.divide %19, %22 : tensor<1x4x1x24xf32>
    %24 = stablehlo.convert %23 : (tensor<1x4x1x24xf32>) -> tensor<1x4x1x24xf16>
    %25 = stablehlo.dot_general %9, %24, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x24x4x16xf16>, tensor<1x4x1x24xf16>) -> tensor<1x4x16x1xf32>
    %26 = stablehlo.transpose %25, dims = [0, 3, 1, 2] : (tensor<1x4x16x1xf32>) -> tensor<1x1x4x16xf32>
    %27 = stablehlo.convert %26 : (tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf16>
    return %27 : tensor<1x1x4x16xf16>
  }
}
