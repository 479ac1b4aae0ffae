func.func @main(%q: tensor<32x256x128xf16>, %k: tensor<32x640x128xf16>, %v: tensor<32x640x128xf16>) -> tensor<32x256x128xf16> {
  %scale = arith.constant 0.0884 : f16
  %empty = tensor.empty() : tensor<32x256x128xf16>
  %r = iree_linalg_ext.attention <indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]>
      ins(%q, %k, %v, %scale : tensor<32x256x128xf16>, tensor<32x640x128xf16>, tensor<32x640x128xf16>, f16) outs(%empty : tensor<32x256x128xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<32x256x128xf16>
  return %r : tensor<32x256x128xf16>
}
