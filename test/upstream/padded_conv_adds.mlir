func.func @main(%image: tensor<1x4x19x16xf16>, %filter: tensor<16x3x3x16xf16>, %sum: tensor<1x2x17x16xf32>) -> tensor<1x2x17x16xf32> {
  %r = linalg.conv_2d_nhwc_fhwc ins(%image, %filter : tensor<1x4x19x16xf16>, tensor<16x3x3x16xf16>) outs(%sum : tensor<1x2x17x16xf32>) -> tensor<1x2x17x16xf32>
  return %r : tensor<1x2x17x16xf32>
}
