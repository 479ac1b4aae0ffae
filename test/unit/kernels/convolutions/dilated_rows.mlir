module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x50x32xf16>, %arg1: tensor<5x32x48xf16>, %arg2: tensor<48xf16>) -> (tensor<2x50x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[6, 6]], lhs_dilate = [1], rhs_dilate = [3], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x50x32xf16>, tensor<5x32x48xf16>) -> tensor<2x50x48xf32>
    %1 = stablehlo.convert %arg2 : (tensor<48xf16>) -> tensor<48xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [2] : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<1x1x48xf32>) -> tensor<2x50x48xf32>
    %4 = stablehlo.add %0, %3 : tensor<2x50x48xf32>
    %5 = stablehlo.convert %4 : (tensor<2x50x48xf32>) -> tensor<2x50x48xf16>
    return %5 : tensor<2x50x48xf16>
  }
}
