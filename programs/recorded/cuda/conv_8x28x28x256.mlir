func.func @main(%x: tensor<8x30x30x256xf16>, %f: tensor<3x3x256x256xf16>) -> tensor<8x28x28x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x28x28x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x28x28x256xf32>) -> tensor<8x28x28x256xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<8x30x30x256xf16>, tensor<3x3x256x256xf16>) outs(%init : tensor<8x28x28x256xf32>) -> tensor<8x28x28x256xf32>
  return %r : tensor<8x28x28x256xf32>
}
