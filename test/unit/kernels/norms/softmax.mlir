module @jit_softmax attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x100x300xf16>, %arg1: tensor<3x300x16xf16>) -> (tensor<3x100x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<3x100x300xf16>) -> tensor<3x100x300xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<3x100x300xf32>, tensor<f32>) -> tensor<3x100xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x100xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<3x100xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<3x100xf32>) -> tensor<3x100x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<3x100x1xf32>) -> tensor<3x100x300xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<3x100x300xf32>
    %7 = stablehlo.exponential %6 : tensor<3x100x300xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<3x100x300xf32>, tensor<f32>) -> tensor<3x100xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<3x100xf32>) -> tensor<3x100x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<3x100x1xf32>) -> tensor<3x100x300xf32>
    %11 = stablehlo.divide %7, %10 : tensor<3x100x300xf32>
    %12 = stablehlo.convert %11 : (tensor<3x100x300xf32>) -> tensor<3x100x300xf16>
    %13 = stablehlo.dot_general %12, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x100x300xf16>, tensor<3x300x16xf16>) -> tensor<3x100x16xf16>
    return %13 : tensor<3x100x16xf16>
  }
}
