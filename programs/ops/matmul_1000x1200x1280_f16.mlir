func.func @main(%a: tensor<1000x1280xf16>, %b: tensor<1280x1200xf16>) -> tensor<1000x1200xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1000x1200xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<1000x1200xf32>) -> tensor<1000x1200xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %b : tensor<1000x1280xf16>, tensor<1280x1200xf16>) outs(%f : tensor<1000x1200xf32>) -> tensor<1000x1200xf32>
  return %r : tensor<1000x1200xf32>
}
