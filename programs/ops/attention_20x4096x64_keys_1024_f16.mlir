func.func @main(%q: tensor<20x4096x64xf16>, %k: tensor<20x1024x64xf16>, %v: tensor<20x1024x64xf16>) -> tensor<20x4096x64xf16> {
  %s = arith.constant 0.125 : f16
  %e = tensor.empty() : tensor<20x4096x64xf16>
  %r = iree_linalg_ext.attention <indexing_maps = [affine_map<(b,m,n,k1,k2)->(b,m,k1)>, affine_map<(b,m,n,k1,k2)->(b,k2,k1)>, affine_map<(b,m,n,k1,k2)->(b,k2,n)>, affine_map<(b,m,n,k1,k2)->()>, affine_map<(b,m,n,k1,k2)->(b,m,n)>]> ins(%q, %k, %v, %s : tensor<20x4096x64xf16>, tensor<20x1024x64xf16>, tensor<20x1024x64xf16>, f16) outs(%e : tensor<20x4096x64xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<20x4096x64xf16>
  return %r : tensor<20x4096x64xf16>
}
