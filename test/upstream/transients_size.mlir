// Memory for temporary values comes from the caller; see docs/upstream/transients_size.md.

func.func @main(
    %a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %result: tensor<64x64xf32> {iree.abi.output = 0 : index},
    %memory: !hal.buffer {iree.abi.transients}) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = linalg.matmul ins(%0, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
