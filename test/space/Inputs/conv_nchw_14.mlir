func.func @conv(%a: tensor<2x64x16x16xf16>, %b: tensor<128x64x3x3xf16>) -> tensor<2x128x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x128x14x14xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x128x14x14xf32>) -> tensor<2x128x14x14xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%a, %b : tensor<2x64x16x16xf16>, tensor<128x64x3x3xf16>)
       outs(%fill : tensor<2x128x14x14xf32>) -> tensor<2x128x14x14xf32>
  return %r : tensor<2x128x14x14xf32>
}
