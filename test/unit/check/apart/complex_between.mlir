// Complex numbers between dispatches: a product, a sum without dimensions, and its absolute value.
func.func @main(%a: tensor<8x32xcomplex<f32>>, %w: tensor<32x16xcomplex<f32>>) -> (tensor<8x16xcomplex<f32>>, tensor<complex<f32>>, tensor<f32>) {
  %y = stablehlo.dot %a, %w : (tensor<8x32xcomplex<f32>>, tensor<32x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %s = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %n = stablehlo.abs %s : (tensor<complex<f32>>) -> tensor<f32>
  return %y, %s, %n : tensor<8x16xcomplex<f32>>, tensor<complex<f32>>, tensor<f32>
}
