module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x128x128x32xf16>, %arg1: tensor<3x3x32x16xf16>) -> (tensor<1x256x256x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 3, 4] : (tensor<1x128x128x32xf16>) -> tensor<1x128x2x128x32xf16>
    %1 = stablehlo.reshape %0 : (tensor<1x128x2x128x32xf16>) -> tensor<1x256x128x32xf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 4] : (tensor<1x256x128x32xf16>) -> tensor<1x256x128x2x32xf16>
    %3 = stablehlo.reshape %2 : (tensor<1x256x128x2x32xf16>) -> tensor<1x256x256x32xf16>
    %4 = stablehlo.convolution(%3, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x256x256x32xf16>, tensor<3x3x32x16xf16>) -> tensor<1x256x256x16xf32>
    %5 = stablehlo.convert %4 : (tensor<1x256x256x16xf32>) -> tensor<1x256x256x16xf16>
    return %5 : tensor<1x256x256x16xf16>
  }
}
