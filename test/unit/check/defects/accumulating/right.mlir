func.func @accumulating(%a: tensor<16x2048xf32>, %sum: tensor<2048xf32>) -> tensor<2048xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<16x2048xf32>) outs(%sum : tensor<2048xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.addf %o, %x : f32
      linalg.yield %y : f32
  } -> tensor<2048xf32>
  return %r : tensor<2048xf32>
}
