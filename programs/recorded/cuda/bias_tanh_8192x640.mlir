func.func @main(%a: tensor<8192x640xf32>, %b: tensor<640xf32>) -> tensor<8192x640xf16> {
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<640xf32>) -> tensor<8192x640xf32>
  %x = stablehlo.add %a, %bb : tensor<8192x640xf32>
  %h = stablehlo.constant dense<0.5> : tensor<8192x640xf32>
  %t = stablehlo.tanh %x : tensor<8192x640xf32>
  %m = stablehlo.multiply %x, %t : tensor<8192x640xf32>
  %o = stablehlo.convert %m : (tensor<8192x640xf32>) -> tensor<8192x640xf16>
  return %o : tensor<8192x640xf16>
}
