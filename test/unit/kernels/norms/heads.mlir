module @jit_heads attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<400x192xf16>, %arg1: tensor<24xf16>, %arg2: tensor<192x16xf16>) -> (tensor<400x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<400x192xf16>) -> tensor<400x8x24xf16>
    %1 = stablehlo.convert %0 : (tensor<400x8x24xf16>) -> tensor<400x8x24xf32>
    %2 = chlo.square %1 : tensor<400x8x24xf32> -> tensor<400x8x24xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<400x8x24xf32>, tensor<f32>) -> tensor<400x8xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<400x8xf32>) -> tensor<400x8x1xf32>
    %cst_0 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<400x8x1xf32>
    %6 = stablehlo.divide %4, %5 : tensor<400x8x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<400x8x1xf32>
    %8 = stablehlo.add %6, %7 : tensor<400x8x1xf32>
    %9 = stablehlo.rsqrt %8 : tensor<400x8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<400x8x1xf32>) -> tensor<400x8x24xf32>
    %11 = stablehlo.multiply %1, %10 : tensor<400x8x24xf32>
    %12 = stablehlo.convert %arg1 : (tensor<24xf16>) -> tensor<24xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<400x8x24xf32>
    %15 = stablehlo.multiply %11, %14 : tensor<400x8x24xf32>
    %16 = stablehlo.convert %15 : (tensor<400x8x24xf32>) -> tensor<400x8x24xf16>
    %17 = stablehlo.reshape %16 : (tensor<400x8x24xf16>) -> tensor<400x192xf16>
    %18 = stablehlo.dot_general %17, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<400x192xf16>, tensor<192x16xf16>) -> tensor<400x16xf16>
    return %18 : tensor<400x16xf16>
  }
}
