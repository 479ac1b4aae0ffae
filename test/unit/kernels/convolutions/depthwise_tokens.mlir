module @jit_tokens attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x9x72xf16>, %arg1: tensor<3x3x1x72xf16>, %arg2: tensor<72xf16>) -> (tensor<2x63x72xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 72 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x7x9x72xf16>, tensor<3x3x1x72xf16>) -> tensor<2x7x9x72xf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<72xf16>) -> tensor<1x1x1x72xf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x72xf16>) -> tensor<2x7x9x72xf16>
    %3 = stablehlo.add %0, %2 : tensor<2x7x9x72xf16>
    %4 = stablehlo.reshape %3 : (tensor<2x7x9x72xf16>) -> tensor<2x63x72xf16>
    %cst = stablehlo.constant dense<7.070310e-01> : tensor<f16>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x63x72xf16>
    %6 = stablehlo.multiply %4, %5 : tensor<2x63x72xf16>
    %7 = chlo.erf %6 : tensor<2x63x72xf16> -> tensor<2x63x72xf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<2x63x72xf16>
    %9 = stablehlo.add %7, %8 : tensor<2x63x72xf16>
    %10 = stablehlo.multiply %4, %9 : tensor<2x63x72xf16>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f16>) -> tensor<2x63x72xf16>
    %12 = stablehlo.multiply %10, %11 : tensor<2x63x72xf16>
    return %12 : tensor<2x63x72xf16>
  }
}
