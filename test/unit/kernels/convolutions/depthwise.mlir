module @jit_depthwise attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x9x20xf16>, %arg1: tensor<5x3x1x20xf16>, %arg2: tensor<20xf16>) -> (tensor<2x7x9x20xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 2], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 20 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x7x9x20xf16>, tensor<5x3x1x20xf16>) -> tensor<2x7x9x20xf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<20xf16>) -> tensor<1x1x1x20xf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x20xf16>) -> tensor<2x7x9x20xf16>
    %3 = stablehlo.add %0, %2 : tensor<2x7x9x20xf16>
    %4 = call @silu(%3) : (tensor<2x7x9x20xf16>) -> tensor<2x7x9x20xf16>
    return %4 : tensor<2x7x9x20xf16>
  }
  func.func private @silu(%arg0: tensor<2x7x9x20xf16>) -> tensor<2x7x9x20xf16> {
    %0 = stablehlo.negate %arg0 : tensor<2x7x9x20xf16>
    %1 = stablehlo.exponential %0 : tensor<2x7x9x20xf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x7x9x20xf16>
    %3 = stablehlo.add %2, %1 : tensor<2x7x9x20xf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<2x7x9x20xf16>
    %5 = stablehlo.divide %4, %3 : tensor<2x7x9x20xf16>
    %6 = stablehlo.multiply %arg0, %5 : tensor<2x7x9x20xf16>
    return %6 : tensor<2x7x9x20xf16>
  }
}
