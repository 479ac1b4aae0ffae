func.func @main(%x: tensor<4x66x66x192xf16>, %f: tensor<3x3x192x192xf16>) -> tensor<4x32x32x192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32x32x192xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x32x32x192xf32>) -> tensor<4x32x32x192xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %f : tensor<4x66x66x192xf16>, tensor<3x3x192x192xf16>) outs(%init : tensor<4x32x32x192xf32>) -> tensor<4x32x32x192xf32>
  return %r : tensor<4x32x32x192xf32>
}
