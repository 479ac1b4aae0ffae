// docs/upstream/cuda_padded_reduction_reads_on.md
func.func @main(%a: tensor<4x64x77xf16>, %b: tensor<5x77x64xf16>) -> tensor<4x64x64xf32> {
  %v = tensor.extract_slice %b[0, 0, 0] [4, 77, 64] [1, 1, 1] : tensor<5x77x64xf16> to tensor<4x77x64xf16>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %r = linalg.batch_matmul ins(%a, %v : tensor<4x64x77xf16>, tensor<4x77x64xf16>) outs(%init : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %r : tensor<4x64x64xf32>
}
