func.func @main(%x: tensor<16x58x58x64xf16>, %f: tensor<3x3x64x64xf16>) -> tensor<16x56x56x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x56x56x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x56x56x64xf32>) -> tensor<16x56x56x64xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x58x58x64xf16>, tensor<3x3x64x64xf16>) outs(%init : tensor<16x56x56x64xf32>) -> tensor<16x56x56x64xf32>
  return %r : tensor<16x56x56x64xf32>
}
