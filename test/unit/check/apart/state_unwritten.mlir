// A running mean in f64 that a call reads before it writes it.
util.global private mutable @mean = dense<0.25> : tensor<16xf64>
func.func @main(%a: tensor<12x16xf64>) -> (tensor<16xf64>, tensor<12x16xf64>) {
  %m = util.global.load @mean : tensor<16xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<12x16xf64>, tensor<f64>) -> tensor<16xf64>
  %n = stablehlo.add %m, %s : tensor<16xf64>
  util.global.store %n, @mean : tensor<16xf64>
  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<16xf64>) -> tensor<12x16xf64>
  %d = stablehlo.subtract %a, %b : tensor<12x16xf64>
  return %n, %d : tensor<16xf64>, tensor<12x16xf64>
}
