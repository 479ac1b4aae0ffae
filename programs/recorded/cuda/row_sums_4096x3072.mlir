func.func @main(%a: tensor<4096x3072xf32>) -> tensor<4096xf32> {
  %x = stablehlo.abs %a : tensor<4096x3072xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x3072xf32>, tensor<f32>) -> tensor<4096xf32>
  return %s : tensor<4096xf32>
}
