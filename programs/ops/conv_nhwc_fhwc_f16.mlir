func.func @main(%a: tensor<2x34x34x128xf16>, %b: tensor<256x3x3x128xf16>) -> tensor<2x32x32x256xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x32x32x256xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<2x32x32x256xf32>) -> tensor<2x32x32x256xf32>
  %r = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a, %b : tensor<2x34x34x128xf16>, tensor<256x3x3x128xf16>) outs(%f : tensor<2x32x32x256xf32>) -> tensor<2x32x32x256xf32>
  return %r : tensor<2x32x32x256xf32>
}
