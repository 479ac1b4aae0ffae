module @jit_transposed attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x5x6x32xf16>, %arg1: tensor<4x4x32x24xf16>, %arg2: tensor<24xf16>) -> (tensor<2x10x12x24xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x32xf16>, tensor<4x4x32x24xf16>) -> tensor<2x10x12x24xf32>
    %1 = stablehlo.convert %arg2 : (tensor<24xf16>) -> tensor<24xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [3] : (tensor<24xf32>) -> tensor<1x1x1x24xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x1x1x24xf32>) -> tensor<2x10x12x24xf32>
    %4 = stablehlo.add %0, %3 : tensor<2x10x12x24xf32>
    %5 = call @relu(%4) : (tensor<2x10x12x24xf32>) -> tensor<2x10x12x24xf32>
    %6 = stablehlo.convert %5 : (tensor<2x10x12x24xf32>) -> tensor<2x10x12x24xf16>
    return %6 : tensor<2x10x12x24xf16>
  }
  func.func private @relu(%arg0: tensor<2x10x12x24xf32>) -> tensor<2x10x12x24xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x10x12x24xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2x10x12x24xf32>
    return %1 : tensor<2x10x12x24xf32>
  }
}
