// The linear layers of BERT-base on 384 tokens, and its attention, a function each.
// Half precision, sums in 32 bits; weights as PyTorch keeps them, outputs before inputs.

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#mixed = affine_map<(b, m, n, k1, k2) -> (b, m, n)>

func.func @proj(%a: tensor<384x768xf16>, %b: tensor<768x768xf16>) -> tensor<384x768xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<384x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<384x768xf32>) -> tensor<384x768xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<384x768xf16>, tensor<768x768xf16>) outs(%init : tensor<384x768xf32>) -> tensor<384x768xf32>
  %half = arith.truncf %sums : tensor<384x768xf32> to tensor<384x768xf16>
  return %half : tensor<384x768xf16>
}

func.func @hidden(%a: tensor<384x768xf16>, %b: tensor<3072x768xf16>) -> tensor<384x3072xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<384x3072xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<384x3072xf32>) -> tensor<384x3072xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<384x768xf16>, tensor<3072x768xf16>) outs(%init : tensor<384x3072xf32>) -> tensor<384x3072xf32>
  %half = arith.truncf %sums : tensor<384x3072xf32> to tensor<384x3072xf16>
  return %half : tensor<384x3072xf16>
}

func.func @out(%a: tensor<384x3072xf16>, %b: tensor<768x3072xf16>) -> tensor<384x768xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<384x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<384x768xf32>) -> tensor<384x768xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<384x3072xf16>, tensor<768x3072xf16>) outs(%init : tensor<384x768xf32>) -> tensor<384x768xf32>
  %half = arith.truncf %sums : tensor<384x768xf32> to tensor<384x768xf16>
  return %half : tensor<384x768xf16>
}

func.func @attention(%q: tensor<12x384x64xf16>, %k: tensor<12x384x64xf16>, %v: tensor<12x384x64xf16>) -> tensor<12x384x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<12x384x64xf16>
  %mixed = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mixed]>
      ins(%q, %k, %v, %scale : tensor<12x384x64xf16>, tensor<12x384x64xf16>, tensor<12x384x64xf16>, f16) outs(%empty : tensor<12x384x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<12x384x64xf16>
  return %mixed : tensor<12x384x64xf16>
}
