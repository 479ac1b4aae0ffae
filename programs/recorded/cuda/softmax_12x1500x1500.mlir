func.func @main(%a: tensor<12x1500x1500xf32>) -> tensor<12x1500x1500xf32> {
  %x = stablehlo.add %a, %a : tensor<12x1500x1500xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<12x1500x1500xf32>, tensor<f32>) -> tensor<12x1500xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<12x1500xf32>) -> tensor<12x1500x1500xf32>
  %d = stablehlo.subtract %x, %mb : tensor<12x1500x1500xf32>
  %e = stablehlo.exponential %d : tensor<12x1500x1500xf32>
  %q = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<12x1500x1500xf32>, tensor<f32>) -> tensor<12x1500xf32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<12x1500xf32>) -> tensor<12x1500x1500xf32>
  %y = stablehlo.divide %e, %qb : tensor<12x1500x1500xf32>
  %o = stablehlo.add %y, %y : tensor<12x1500x1500xf32>
  return %o : tensor<12x1500x1500xf32>
}
