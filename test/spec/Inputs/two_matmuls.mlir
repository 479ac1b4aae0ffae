// The same matmul in two dispatches, the second with a consumer.
func.func @two(%a: tensor<256x128xf32>, %b: tensor<128x512xf32>, %d: tensor<256x512xf32>) -> (tensor<256x512xf32>, tensor<256x512xf32>) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x512xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<256x512xf32>) -> tensor<256x512xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x128xf32>, tensor<128x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %a2 = util.optimization_barrier %a : tensor<256x128xf32>
  %r2 = linalg.matmul ins(%a2, %b : tensor<256x128xf32>, tensor<128x512xf32>) outs(%f : tensor<256x512xf32>) -> tensor<256x512xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%r2, %d : tensor<256x512xf32>, tensor<256x512xf32>) outs(%e : tensor<256x512xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<256x512xf32>
  return %r, %s : tensor<256x512xf32>, tensor<256x512xf32>
}
