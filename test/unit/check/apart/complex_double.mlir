// Complex numbers of double precision, of three dimensions.
func.func @main(%a: tensor<2x3x40xcomplex<f64>>, %b: tensor<2x3x40xcomplex<f64>>, %s: tensor<complex<f64>>) -> tensor<2x3x40xcomplex<f64>> {
  %p = stablehlo.multiply %a, %b : tensor<2x3x40xcomplex<f64>>
  %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<complex<f64>>) -> tensor<2x3x40xcomplex<f64>>
  %r = stablehlo.add %p, %t : tensor<2x3x40xcomplex<f64>>
  return %r : tensor<2x3x40xcomplex<f64>>
}
