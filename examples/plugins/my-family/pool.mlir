func.func @main(%image: tensor<1x30x30x32xf32>) -> tensor<1x14x14x32xf32> {
  %window = tensor.empty() : tensor<3x3xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x32xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  %pooled = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%image, %window : tensor<1x30x30x32xf32>, tensor<3x3xf32>)
      outs(%filled : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  return %pooled : tensor<1x14x14x32xf32>
}
