func.func @main(%a: tensor<2x34x34x4x32xf16>, %b: tensor<4x64x3x3x32xf16>) -> tensor<2x32x32x4x64xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x32x32x4x64xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<2x32x32x4x64xf32>) -> tensor<2x32x32x4x64xf32>
  %r = linalg.conv_2d_nhwgc_gfhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a, %b : tensor<2x34x34x4x32xf16>, tensor<4x64x3x3x32xf16>) outs(%f : tensor<2x32x32x4x64xf32>) -> tensor<2x32x32x4x64xf32>
  return %r : tensor<2x32x32x4x64xf32>
}
