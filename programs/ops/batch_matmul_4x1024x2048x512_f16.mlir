func.func @main(%a: tensor<4x1024x512xf16>, %b: tensor<4x512x2048xf16>) -> tensor<4x1024x2048xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x1024x2048xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4x1024x2048xf32>) -> tensor<4x1024x2048xf32>
  %r = linalg.batch_matmul indexing_maps = [affine_map<(b,m,n,k)->(b,m,k)>, affine_map<(b,m,n,k)->(b,k,n)>, affine_map<(b,m,n,k)->(b,m,n)>] ins(%a, %b : tensor<4x1024x512xf16>, tensor<4x512x2048xf16>) outs(%f : tensor<4x1024x2048xf32>) -> tensor<4x1024x2048xf32>
  return %r : tensor<4x1024x2048xf32>
}
