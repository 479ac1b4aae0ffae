// Two convolutions with zeros around their images, a row added to each image, and a residual, as JAX exports them.
func.func @main(
    %x: tensor<2x14x14x32xf16>, %f: tensor<3x3x32x32xf16>, %b: tensor<32xf16>, %t: tensor<2x32xf16>,
    %g: tensor<3x3x32x32xf16>
) -> tensor<2x14x14x32xf16> {
  %first = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x14x14x32xf16>, tensor<3x3x32x32xf16>) -> tensor<2x14x14x32xf32>
  %wide = stablehlo.convert %b : (tensor<32xf16>) -> tensor<32xf32>
  %bias = stablehlo.broadcast_in_dim %wide, dims = [3] : (tensor<32xf32>) -> tensor<2x14x14x32xf32>
  %sums = stablehlo.add %first, %bias : tensor<2x14x14x32xf32>
  %half = stablehlo.convert %sums : (tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf16>
  %time = stablehlo.broadcast_in_dim %t, dims = [0, 3] : (tensor<2x32xf16>) -> tensor<2x14x14x32xf16>
  %later = stablehlo.add %half, %time : tensor<2x14x14x32xf16>
  %zero = stablehlo.constant dense<0.0> : tensor<2x14x14x32xf16>
  %positive = stablehlo.maximum %later, %zero : tensor<2x14x14x32xf16>
  %second = stablehlo.convolution(%positive, %g) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x14x14x32xf16>, tensor<3x3x32x32xf16>) -> tensor<2x14x14x32xf16>
  %sum = stablehlo.add %second, %x : tensor<2x14x14x32xf16>
  return %sum : tensor<2x14x14x32xf16>
}
