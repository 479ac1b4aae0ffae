// Attention of 1500 queries to 77 keys, as between the positions of an audio encoder and a short text: 20 heads of width 64.

#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#mixed = affine_map<(b, m, n, k1, k2) -> (b, m, n)>

func.func @attention_1500x77(%q: tensor<20x1500x64xf16>, %k: tensor<20x77x64xf16>, %v: tensor<20x77x64xf16>) -> tensor<20x1500x64xf16> {
  %s = arith.constant 0.125 : f16
  %e = tensor.empty() : tensor<20x1500x64xf16>
  %r = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mixed]> ins(%q, %k, %v, %s : tensor<20x1500x64xf16>, tensor<20x77x64xf16>, tensor<20x77x64xf16>, f16) outs(%e : tensor<20x1500x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<20x1500x64xf16>
  return %r : tensor<20x1500x64xf16>
}
