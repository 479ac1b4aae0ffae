// Crashes: docs/upstream/vulkan_apple_target.md
func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {
  %r = arith.addf %a, %a : tensor<16xf32>
  return %r : tensor<16xf32>
}
