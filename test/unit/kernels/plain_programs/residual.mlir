module {
  func.func public @main(%arg0: tensor<2x10x10x16xf16>, %arg1: tensor<3x3x16x16xf16>, %arg2: tensor<3x3x16x16xf16>, %arg3: tensor<16xf16>, %arg4: tensor<16xf16>, %arg5: tensor<16xf16>, %arg6: tensor<16xf16>) -> (tensor<2x10x10x16xf16>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x10x10x16xf16>, tensor<3x3x16x16xf16>) -> tensor<2x10x10x16xf16>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf16>) -> tensor<2x10x10x16xf16>
    %3 = stablehlo.multiply %0, %2 : tensor<2x10x10x16xf16>
    %4 = stablehlo.broadcast_in_dim %arg4, dims = [3] : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf16>) -> tensor<2x10x10x16xf16>
    %6 = stablehlo.add %3, %5 : tensor<2x10x10x16xf16>
    %7 = call @relu(%6) : (tensor<2x10x10x16xf16>) -> tensor<2x10x10x16xf16>
    %8 = stablehlo.convolution(%7, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x10x10x16xf16>, tensor<3x3x16x16xf16>) -> tensor<2x10x10x16xf16>
    %9 = stablehlo.broadcast_in_dim %arg5, dims = [3] : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf16>) -> tensor<2x10x10x16xf16>
    %11 = stablehlo.multiply %8, %10 : tensor<2x10x10x16xf16>
    %12 = stablehlo.broadcast_in_dim %arg6, dims = [3] : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf16>) -> tensor<2x10x10x16xf16>
    %14 = stablehlo.add %11, %13 : tensor<2x10x10x16xf16>
    %15 = stablehlo.add %arg0, %14 : tensor<2x10x10x16xf16>
    %16 = call @relu(%15) : (tensor<2x10x10x16xf16>) -> tensor<2x10x10x16xf16>
    return %16 : tensor<2x10x10x16xf16>
  }
  func.func private @relu(%arg0: tensor<2x10x10x16xf16>) -> tensor<2x10x10x16xf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x10x10x16xf16>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2x10x10x16xf16>
    return %1 : tensor<2x10x10x16xf16>
  }
}
