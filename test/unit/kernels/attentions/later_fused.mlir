module @jit_later_fused attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x128xf16>, %arg1: tensor<2x40x2x16xf16>, %arg2: tensor<2x40x2x16xf16>) -> (tensor<2x5x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:2, 0:5, 0:64] : (tensor<2x5x128xf16>) -> tensor<2x5x64xf16>
    %1 = stablehlo.slice %arg0 [0:2, 0:5, 64:96] : (tensor<2x5x128xf16>) -> tensor<2x5x32xf16>
    %2 = stablehlo.slice %arg0 [0:2, 0:5, 96:128] : (tensor<2x5x128xf16>) -> tensor<2x5x32xf16>
    %3 = stablehlo.reshape %0 : (tensor<2x5x64xf16>) -> tensor<2x5x4x16xf16>
    %4 = stablehlo.reshape %1 : (tensor<2x5x32xf16>) -> tensor<2x5x2x16xf16>
    %5 = stablehlo.reshape %2 : (tensor<2x5x32xf16>) -> tensor<2x5x2x16xf16>
    %6 = stablehlo.concatenate %arg1, %4, dim = 1 : (tensor<2x40x2x16xf16>, tensor<2x5x2x16xf16>) -> tensor<2x45x2x16xf16>
    %7 = stablehlo.concatenate %arg2, %5, dim = 1 : (tensor<2x40x2x16xf16>, tensor<2x5x2x16xf16>) -> tensor<2x45x2x16xf16>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 4] : (tensor<2x45x2x16xf16>) -> tensor<2x45x2x2x16xf16>
    %9 = stablehlo.reshape %8 : (tensor<2x45x2x2x16xf16>) -> tensor<2x45x4x16xf16>
    %10 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 4] : (tensor<2x45x2x16xf16>) -> tensor<2x45x2x2x16xf16>
    %11 = stablehlo.reshape %10 : (tensor<2x45x2x2x16xf16>) -> tensor<2x45x4x16xf16>
    %12 = stablehlo.dot_general %3, %9, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x5x4x16xf16>, tensor<2x45x4x16xf16>) -> tensor<2x4x5x45xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x5x45xf32>
    %14 = stablehlo.multiply %12, %13 : tensor<2x4x5x45xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x5x45xf32>, tensor<f32>) -> tensor<2x4x5xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x5xf32>
    %17 = stablehlo.maximum %16, %15 : tensor<2x4x5xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x4x5xf32>) -> tensor<2x4x5x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x45xf32>
    %20 = stablehlo.subtract %14, %19 : tensor<2x4x5x45xf32>
    %21 = stablehlo.exponential %20 : tensor<2x4x5x45xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.reduce(%21 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x5x45xf32>, tensor<f32>) -> tensor<2x4x5xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<2x4x5xf32>) -> tensor<2x4x5x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x45xf32>
    %25 = stablehlo.divide %21, %24 : tensor<2x4x5x45xf32>
    %26 = stablehlo.convert %25 : (tensor<2x4x5x45xf32>) -> tensor<2x4x5x45xf16>
    %27 = stablehlo.dot_general %11, %26, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x45x4x16xf16>, tensor<2x4x5x45xf16>) -> tensor<2x4x16x5xf32>
    %28 = stablehlo.transpose %27, dims = [0, 3, 1, 2] : (tensor<2x4x16x5xf32>) -> tensor<2x5x4x16xf32>
    %29 = stablehlo.convert %28 : (tensor<2x5x4x16xf32>) -> tensor<2x5x4x16xf16>
    return %29 : tensor<2x5x4x16xf16>
  }
}
