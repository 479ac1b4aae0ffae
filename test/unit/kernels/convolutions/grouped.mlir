module @jit_grouped attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x9x48xf16>, %arg1: tensor<3x3x16x72xf16>, %arg2: tensor<72xf16>) -> (tensor<2x7x9x72xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x7x9x48xf16>, tensor<3x3x16x72xf16>) -> tensor<2x7x9x72xf32>
    %1 = stablehlo.convert %arg2 : (tensor<72xf16>) -> tensor<72xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [3] : (tensor<72xf32>) -> tensor<1x1x1x72xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x1x1x72xf32>) -> tensor<2x7x9x72xf32>
    %4 = stablehlo.add %0, %3 : tensor<2x7x9x72xf32>
    %5 = stablehlo.convert %4 : (tensor<2x7x9x72xf32>) -> tensor<2x7x9x72xf16>
    %6 = call @relu(%5) : (tensor<2x7x9x72xf16>) -> tensor<2x7x9x72xf16>
    return %6 : tensor<2x7x9x72xf16>
  }
  func.func private @relu(%arg0: tensor<2x7x9x72xf16>) -> tensor<2x7x9x72xf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x7x9x72xf16>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2x7x9x72xf16>
    return %1 : tensor<2x7x9x72xf16>
  }
}
