module @jit_rows attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x50x40xf16>, %arg1: tensor<13x1x40xf16>, %arg2: tensor<40xf16>) -> (tensor<2x50x40xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[6, 6]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 40 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x50x40xf16>, tensor<13x1x40xf16>) -> tensor<2x50x40xf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<40xf16>) -> tensor<1x1x40xf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x40xf16>) -> tensor<2x50x40xf16>
    %3 = stablehlo.add %0, %2 : tensor<2x50x40xf16>
    %4 = call @silu(%3) : (tensor<2x50x40xf16>) -> tensor<2x50x40xf16>
    return %4 : tensor<2x50x40xf16>
  }
  func.func private @silu(%arg0: tensor<2x50x40xf16>) -> tensor<2x50x40xf16> {
    %0 = stablehlo.negate %arg0 : tensor<2x50x40xf16>
    %1 = stablehlo.exponential %0 : tensor<2x50x40xf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x50x40xf16>
    %3 = stablehlo.add %2, %1 : tensor<2x50x40xf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<2x50x40xf16>
    %5 = stablehlo.divide %4, %3 : tensor<2x50x40xf16>
    %6 = stablehlo.multiply %arg0, %5 : tensor<2x50x40xf16>
    return %6 : tensor<2x50x40xf16>
  }
}
