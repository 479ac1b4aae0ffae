// What exporters with asynchronous functions give: buffer views, a fence to wait for and one to signal.
func.func @main$async(%a: !hal.buffer_view, %b: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> !hal.buffer_view attributes {iree.abi.stub} {
  %x = hal.tensor.import wait(%wait) => %a : !hal.buffer_view -> tensor<1x64xf32>
  %w = hal.tensor.import wait(%wait) => %b : !hal.buffer_view -> tensor<64x256xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x256xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x256xf32>) -> tensor<1x256xf32>
  %r = linalg.matmul ins(%x, %w : tensor<1x64xf32>, tensor<64x256xf32>) outs(%f : tensor<1x256xf32>) -> tensor<1x256xf32>
  %d = hal.tensor.barrier join(%r : tensor<1x256xf32>) => %signal : !hal.fence
  %v = hal.tensor.export %d : tensor<1x256xf32> -> !hal.buffer_view
  return %v : !hal.buffer_view
}
