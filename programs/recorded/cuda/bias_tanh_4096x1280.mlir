func.func @main(%a: tensor<4096x1280xf32>, %b: tensor<1280xf32>) -> tensor<4096x1280xf16> {
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1280xf32>) -> tensor<4096x1280xf32>
  %x = stablehlo.add %a, %bb : tensor<4096x1280xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4096x1280xf32>
  %t = stablehlo.tanh %x : tensor<4096x1280xf32>
  %m = stablehlo.multiply %x, %t : tensor<4096x1280xf32>
  %o = stablehlo.convert %m : (tensor<4096x1280xf32>) -> tensor<4096x1280xf16>
  return %o : tensor<4096x1280xf16>
}
