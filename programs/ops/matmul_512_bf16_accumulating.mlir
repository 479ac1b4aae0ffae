func.func @main(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>, %d: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %b : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%d : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
