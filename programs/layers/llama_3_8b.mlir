// The linear layers of Llama-3-8B, a function each: a prefill of 512 tokens, and one token decoded.
// Half precision, sums in 32 bits; weights as PyTorch keeps them, outputs before inputs.

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

func.func @prefill_q_o(%a: tensor<512x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<512x4096xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<512x4096xf16>, tensor<4096x4096xf16>) outs(%init : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %half = arith.truncf %sums : tensor<512x4096xf32> to tensor<512x4096xf16>
  return %half : tensor<512x4096xf16>
}

func.func @prefill_k_v(%a: tensor<512x4096xf16>, %b: tensor<1024x4096xf16>) -> tensor<512x1024xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<512x4096xf16>, tensor<1024x4096xf16>) outs(%init : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %half = arith.truncf %sums : tensor<512x1024xf32> to tensor<512x1024xf16>
  return %half : tensor<512x1024xf16>
}

func.func @prefill_gate_up(%a: tensor<512x4096xf16>, %b: tensor<14336x4096xf16>) -> tensor<512x14336xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x14336xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x14336xf32>) -> tensor<512x14336xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<512x4096xf16>, tensor<14336x4096xf16>) outs(%init : tensor<512x14336xf32>) -> tensor<512x14336xf32>
  %half = arith.truncf %sums : tensor<512x14336xf32> to tensor<512x14336xf16>
  return %half : tensor<512x14336xf16>
}

func.func @prefill_down(%a: tensor<512x14336xf16>, %b: tensor<4096x14336xf16>) -> tensor<512x4096xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<512x14336xf16>, tensor<4096x14336xf16>) outs(%init : tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %half = arith.truncf %sums : tensor<512x4096xf32> to tensor<512x4096xf16>
  return %half : tensor<512x4096xf16>
}

func.func @decode_q_o(%a: tensor<1x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<1x4096xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<1x4096xf16>, tensor<4096x4096xf16>) outs(%init : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  %half = arith.truncf %sums : tensor<1x4096xf32> to tensor<1x4096xf16>
  return %half : tensor<1x4096xf16>
}

func.func @decode_k_v(%a: tensor<1x4096xf16>, %b: tensor<1024x4096xf16>) -> tensor<1x1024xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<1x4096xf16>, tensor<1024x4096xf16>) outs(%init : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %half = arith.truncf %sums : tensor<1x1024xf32> to tensor<1x1024xf16>
  return %half : tensor<1x1024xf16>
}

func.func @decode_gate_up(%a: tensor<1x4096xf16>, %b: tensor<14336x4096xf16>) -> tensor<1x14336xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14336xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14336xf32>) -> tensor<1x14336xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<1x4096xf16>, tensor<14336x4096xf16>) outs(%init : tensor<1x14336xf32>) -> tensor<1x14336xf32>
  %half = arith.truncf %sums : tensor<1x14336xf32> to tensor<1x14336xf16>
  return %half : tensor<1x14336xf16>
}

func.func @decode_down(%a: tensor<1x14336xf16>, %b: tensor<4096x14336xf16>) -> tensor<1x4096xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<1x14336xf16>, tensor<4096x14336xf16>) outs(%init : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  %half = arith.truncf %sums : tensor<1x4096xf32> to tensor<1x4096xf16>
  return %half : tensor<1x4096xf16>
}
