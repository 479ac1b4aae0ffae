func.func @main(%a: tensor<2048x3000xf32>) -> tensor<3000x2048xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2048x3000xf32>) -> tensor<3000x2048xf32>
  return %0 : tensor<3000x2048xf32>
}
