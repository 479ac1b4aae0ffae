// Arrays without dimensions of f16, bf16 and i64 between dispatches.
func.func @main(%a: tensor<8x64xf16>, %s: tensor<f16>, %t: tensor<bf16>, %n: tensor<i64>) -> (tensor<f16>, tensor<bf16>, tensor<i64>) {
  %z = stablehlo.constant dense<0.0> : tensor<f16>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f16>) -> tensor<8x64xf16>
  %p = stablehlo.multiply %a, %b : tensor<8x64xf16>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x64xf16>, tensor<f16>) -> tensor<f16>
  %u = stablehlo.convert %r : (tensor<f16>) -> tensor<bf16>
  %v = stablehlo.add %u, %t : tensor<bf16>
  %m = stablehlo.add %n, %n : tensor<i64>
  return %r, %v, %m : tensor<f16>, tensor<bf16>, tensor<i64>
}
