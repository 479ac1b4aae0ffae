func.func @main(%x: tensor<1x16x16x128xf32>, %f: tensor<3x3x128x96xf32>) -> tensor<1x14x14x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x96xf32>) -> tensor<1x14x14x96xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<1x16x16x128xf32>, tensor<3x3x128x96xf32>) outs(%init : tensor<1x14x14x96xf32>) -> tensor<1x14x14x96xf32>
  return %r : tensor<1x14x14x96xf32>
}
