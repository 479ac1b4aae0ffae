// A private function that is called twice, and not inlined.
func.func private @layer(%x: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> attributes {noinline} {
  %y = stablehlo.dot %x, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> {
  %x = call @layer(%a, %w) : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %t = stablehlo.tanh %x : tensor<1x64xf32>
  %y = call @layer(%t, %w) : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}
