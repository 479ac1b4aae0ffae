func.func @main(%a: tensor<2048x2048xi8>, %b: tensor<2048x2048xi8>) -> tensor<2048x2048xi32> {
  %c = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2048x2048xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<2048x2048xi32>) -> tensor<2048x2048xi32>
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %b : tensor<2048x2048xi8>, tensor<2048x2048xi8>) outs(%f : tensor<2048x2048xi32>) -> tensor<2048x2048xi32>
  return %r : tensor<2048x2048xi32>
}
