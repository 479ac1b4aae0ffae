func.func @main(%x: tensor<2x18x18x1280xf16>, %f: tensor<3x3x1280x1280xf16>) -> tensor<2x16x16x1280xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x16x16x1280xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x16x16x1280xf32>) -> tensor<2x16x16x1280xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<2x18x18x1280xf16>, tensor<3x3x1280x1280xf16>) outs(%init : tensor<2x16x16x1280xf32>) -> tensor<2x16x16x1280xf32>
  return %r : tensor<2x16x16x1280xf32>
}
