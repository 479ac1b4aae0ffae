func.func @main(%a: tensor<20x2048x77xf16>) -> tensor<20x2048x77xf16> {
  %x = stablehlo.convert %a : (tensor<20x2048x77xf16>) -> tensor<20x2048x77xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<20x2048x77xf32>, tensor<f32>) -> tensor<20x2048xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<20x2048xf32>) -> tensor<20x2048x77xf32>
  %d = stablehlo.subtract %x, %mb : tensor<20x2048x77xf32>
  %e = stablehlo.exponential %d : tensor<20x2048x77xf32>
  %q = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<20x2048x77xf32>, tensor<f32>) -> tensor<20x2048xf32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<20x2048xf32>) -> tensor<20x2048x77xf32>
  %y = stablehlo.divide %e, %qb : tensor<20x2048x77xf32>
  %o = stablehlo.convert %y : (tensor<20x2048x77xf32>) -> tensor<20x2048x77xf16>
  return %o : tensor<20x2048x77xf16>
}
