func.func @main(%a: tensor<2x128x34x34xf16>, %b: tensor<256x128x3x3xf16>) -> tensor<2x256x32x32xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x256x32x32xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<2x256x32x32xf32>) -> tensor<2x256x32x32xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a, %b : tensor<2x128x34x34xf16>, tensor<256x128x3x3xf16>) outs(%f : tensor<2x256x32x32xf32>) -> tensor<2x256x32x32xf32>
  return %r : tensor<2x256x32x32xf32>
}
