func.func @main(%a: tensor<8x197x197xf32>) -> tensor<8x197x197xf32> {
  %x = stablehlo.add %a, %a : tensor<8x197x197xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<8x197x197xf32>, tensor<f32>) -> tensor<8x197xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<8x197xf32>) -> tensor<8x197x197xf32>
  %d = stablehlo.subtract %x, %mb : tensor<8x197x197xf32>
  %e = stablehlo.exponential %d : tensor<8x197x197xf32>
  %q = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x197x197xf32>, tensor<f32>) -> tensor<8x197xf32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<8x197xf32>) -> tensor<8x197x197xf32>
  %y = stablehlo.divide %e, %qb : tensor<8x197x197xf32>
  %o = stablehlo.add %y, %y : tensor<8x197x197xf32>
  return %o : tensor<8x197x197xf32>
}
