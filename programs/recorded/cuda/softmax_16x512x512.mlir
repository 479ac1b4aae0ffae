func.func @main(%a: tensor<16x512x512xf16>) -> tensor<16x512x512xf16> {
  %x = stablehlo.convert %a : (tensor<16x512x512xf16>) -> tensor<16x512x512xf32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<16x512x512xf32>, tensor<f32>) -> tensor<16x512xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<16x512xf32>) -> tensor<16x512x512xf32>
  %d = stablehlo.subtract %x, %mb : tensor<16x512x512xf32>
  %e = stablehlo.exponential %d : tensor<16x512x512xf32>
  %q = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<16x512x512xf32>, tensor<f32>) -> tensor<16x512xf32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<16x512xf32>) -> tensor<16x512x512xf32>
  %y = stablehlo.divide %e, %qb : tensor<16x512x512xf32>
  %o = stablehlo.convert %y : (tensor<16x512x512xf32>) -> tensor<16x512x512xf16>
  return %o : tensor<16x512x512xf16>
}
