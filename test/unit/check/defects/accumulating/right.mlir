func.func @accumulating(%a: tensor<16x8192xf32>, %sum: tensor<8192xf32>) -> tensor<8192xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<16x8192xf32>) outs(%sum : tensor<8192xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.addf %o, %x : f32
      linalg.yield %y : f32
  } -> tensor<8192xf32>
  return %r : tensor<8192xf32>
}
