func.func @main(%a: tensor<32x784x256xf16>) -> tensor<32x256xf32> {
  %x = stablehlo.convert %a : (tensor<32x784x256xf16>) -> tensor<32x784x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x784x256xf32>, tensor<f32>) -> tensor<32x256xf32>
  return %s : tensor<32x256xf32>
}
