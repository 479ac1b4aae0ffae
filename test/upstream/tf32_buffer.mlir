// Segmentation fault: docs/upstream/tf32_buffer.md
func.func @main(%a: tensor<8xf32>) -> tensor<8xtf32> {
  %r = arith.truncf %a : tensor<8xf32> to tensor<8xtf32>
  return %r : tensor<8xtf32>
}
