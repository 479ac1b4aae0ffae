// Buffer views and fences, one of a tensor without dimensions; there is a function without fences as well.
func.func @main$async(%a: !hal.buffer_view, %b: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> !hal.buffer_view attributes {iree.abi.stub} {
  %x = hal.tensor.import wait(%wait) => %a : !hal.buffer_view -> tensor<4x64xf16>
  %s = hal.tensor.import wait(%wait) => %b : !hal.buffer_view -> tensor<f16>
  %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f16>) -> tensor<4x64xf16>
  %r = stablehlo.multiply %x, %t : tensor<4x64xf16>
  %d = hal.tensor.barrier join(%r : tensor<4x64xf16>) => %signal : !hal.fence
  %v = hal.tensor.export %d : tensor<4x64xf16> -> !hal.buffer_view
  return %v : !hal.buffer_view
}
