// The first function fills a cache, the second one multiplies it.
util.global private mutable @cache = dense<0.0> : tensor<1x64xf32>
func.func @prefill(%a: tensor<1x64xf32>) {
  %b = arith.addf %a, %a : tensor<1x64xf32>
  util.global.store %b, @cache : tensor<1x64xf32>
  return
}
func.func @decode(%w: tensor<64x256xf32>) -> tensor<1x256xf32> {
  %c = util.global.load @cache : tensor<1x64xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x256xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x256xf32>) -> tensor<1x256xf32>
  %y = linalg.matmul ins(%c, %w : tensor<1x64xf32>, tensor<64x256xf32>) outs(%f : tensor<1x256xf32>) -> tensor<1x256xf32>
  return %y : tensor<1x256xf32>
}
