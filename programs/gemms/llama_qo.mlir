// Llama-3-8B, queries and output of 512 tokens, weights as PyTorch keeps them; half precision, sums in 32 bits, as a layer of a model needs it.
func.func @main(%a: tensor<512x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<512x4096xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %sums = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<512x4096xf16>, tensor<4096x4096xf16>) outs(%init : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %half = arith.truncf %sums : tensor<512x4096xf32> to tensor<512x4096xf16>
  return %half : tensor<512x4096xf16>
}
