// Computes something else: docs/upstream/f64_views.md
func.func @main(%a: !hal.buffer_view) -> !hal.buffer_view {
  %0 = hal.tensor.import %a : !hal.buffer_view -> tensor<4xf64>
  %1 = arith.truncf %0 : tensor<4xf64> to tensor<4xf32>
  %2 = hal.tensor.export %1 : tensor<4xf32> -> !hal.buffer_view
  return %2 : !hal.buffer_view
}
