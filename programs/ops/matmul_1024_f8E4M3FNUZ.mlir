func.func @main(%a: tensor<1024x1024xf8E4M3FNUZ>, %b: tensor<1024x1024xf8E4M3FNUZ>) -> tensor<1024x1024xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %b : tensor<1024x1024xf8E4M3FNUZ>, tensor<1024x1024xf8E4M3FNUZ>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
