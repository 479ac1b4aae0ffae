func.func @main(%a: tensor<64xf32>) -> tensor<64xf8E4M3FN> {
  %e = tensor.empty() : tensor<64xf8E4M3FN>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf32>) outs(%e : tensor<64xf8E4M3FN>) {
  ^bb0(%x: f32, %out: f8E4M3FN):
    %y = arith.truncf %x : f32 to f8E4M3FN
    linalg.yield %y : f8E4M3FN
  } -> tensor<64xf8E4M3FN>
  return %r : tensor<64xf8E4M3FN>
}
