func.func @main(%a: tensor<384x768xf32>, %b: tensor<512x768xf32>) -> tensor<384x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<384x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<384x512xf32>) -> tensor<384x512xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%a, %b : tensor<384x768xf32>, tensor<512x768xf32>) outs(%init : tensor<384x512xf32>) -> tensor<384x512xf32>
  return %r : tensor<384x512xf32>
}
