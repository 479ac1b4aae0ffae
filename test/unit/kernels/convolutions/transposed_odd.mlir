module @jit_transposed_odd attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x4x7x16xf16>, %arg1: tensor<5x3x16x16xf16>, %arg2: tensor<16xf16>) -> (tensor<1x14x15x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[4, 4], [2, 2]], lhs_dilate = [3, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x7x16xf16>, tensor<5x3x16x16xf16>) -> tensor<1x14x15x16xf32>
    %1 = stablehlo.convert %0 : (tensor<1x14x15x16xf32>) -> tensor<1x14x15x16xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf16>) -> tensor<1x14x15x16xf16>
    %4 = stablehlo.add %1, %3 : tensor<1x14x15x16xf16>
    return %4 : tensor<1x14x15x16xf16>
  }
}
