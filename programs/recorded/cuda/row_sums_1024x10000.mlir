func.func @main(%a: tensor<1024x10000xf16>) -> tensor<1024xf32> {
  %x = stablehlo.convert %a : (tensor<1024x10000xf16>) -> tensor<1024x10000xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x10000xf32>, tensor<f32>) -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}
