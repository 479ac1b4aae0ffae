module @jit_transposed_rows attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x13x32xf16>, %arg1: tensor<9x32x16xf16>) -> (tensor<2x52x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[6, 5]], lhs_dilate = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x32xf16>, tensor<9x32x16xf16>) -> tensor<2x52x16xf32>
    %1 = stablehlo.convert %0 : (tensor<2x52x16xf32>) -> tensor<2x52x16xf16>
    return %1 : tensor<2x52x16xf16>
  }
}
