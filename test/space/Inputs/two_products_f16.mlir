func.func @main(%x: tensor<128x64xf16>, %w: tensor<128x64xf16>, %v: tensor<128x64xf16>)
    -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %v : tensor<128x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>)
      outs(%f, %f : tensor<128x128xf32>, tensor<128x128xf32>) {
    ^bb0(%a: f16, %b: f16, %c: f16, %s: f32, %t: f32):
      %a32 = arith.extf %a : f16 to f32
      %b32 = arith.extf %b : f16 to f32
      %ab = arith.mulf %a32, %b32 : f32
      %s1 = arith.addf %s, %ab : f32
      %c32 = arith.extf %c : f16 to f32
      %ac = arith.mulf %a32, %c32 : f32
      %t1 = arith.addf %t, %ac : f32
      linalg.yield %s1, %t1 : f32, f32
  } -> (tensor<128x128xf32>, tensor<128x128xf32>)
  return %r#0, %r#1 : tensor<128x128xf32>, tensor<128x128xf32>
}
