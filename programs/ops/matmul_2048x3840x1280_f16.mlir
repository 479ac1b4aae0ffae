func.func @main(%a: tensor<2048x1280xf16>, %b: tensor<1280x3840xf16>) -> tensor<2048x3840xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x3840xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<2048x3840xf32>) -> tensor<2048x3840xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %b : tensor<2048x1280xf16>, tensor<1280x3840xf16>) outs(%f : tensor<2048x3840xf32>) -> tensor<2048x3840xf32>
  return %r : tensor<2048x3840xf32>
}
