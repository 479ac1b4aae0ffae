func.func @main(%a: tensor<1x4096xf16>, %b: tensor<14336x4096xf16>) -> tensor<1x14336xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14336xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14336xf32>) -> tensor<1x14336xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<1x4096xf16>, tensor<14336x4096xf16>) outs(%init : tensor<1x14336xf32>) -> tensor<1x14336xf32>
  return %r : tensor<1x14336xf32>
}
