func.func @main(%image: tensor<1x16x16x48xi8>, %filter: tensor<3x3x1x48xi8>) -> tensor<1x14x14x48xi32> {
  %sums = stablehlo.convolution(%image, %filter) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 48 : i64}
      : (tensor<1x16x16x48xi8>, tensor<3x3x1x48xi8>) -> tensor<1x14x14x48xi32>
  return %sums : tensor<1x14x14x48xi32>
}
