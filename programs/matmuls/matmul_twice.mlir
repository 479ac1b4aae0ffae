func.func @main(%a: tensor<256x512xf32>, %b: tensor<512x384xf32>, %c: tensor<384x640xf32>) -> tensor<256x640xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x384xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x384xf32>) -> tensor<256x384xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x512xf32>, tensor<512x384xf32>) outs(%f : tensor<256x384xf32>) -> tensor<256x384xf32>
  %e2 = tensor.empty() : tensor<256x640xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<256x640xf32>) -> tensor<256x640xf32>
  %r2 = linalg.matmul ins(%r, %c : tensor<256x384xf32>, tensor<384x640xf32>) outs(%f2 : tensor<256x640xf32>) -> tensor<256x640xf32>
  return %r2 : tensor<256x640xf32>
}
