func.func @main(%a: tensor<16x3136x64xf32>) -> tensor<16x64xf32> {
  %x = stablehlo.abs %a : tensor<16x3136x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x3136x64xf32>, tensor<f32>) -> tensor<16x64xf32>
  return %s : tensor<16x64xf32>
}
