// A boolean and a double without dimensions decide what is selected.
func.func @main(%c: tensor<i1>, %x: tensor<f64>, %a: tensor<16x3xf64>) -> (tensor<16x3xf64>, tensor<i1>) {
  %b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f64>) -> tensor<16x3xf64>
  %p = stablehlo.multiply %a, %b : tensor<16x3xf64>
  %q = stablehlo.add %p, %a : tensor<16x3xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x3xf64>, tensor<f64>) -> tensor<f64>
  %g = stablehlo.compare GT, %s, %z : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %o = stablehlo.and %g, %c : tensor<i1>
  %d = stablehlo.select %o, %q, %p : tensor<i1>, tensor<16x3xf64>
  return %d, %o : tensor<16x3xf64>, tensor<i1>
}
