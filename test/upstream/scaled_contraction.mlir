func.func @main(%a: tensor<1024x64x32xf8E4M3FN>, %b: tensor<1024x64x32xf8E4M3FN>,
                %as: tensor<1024x64xf8E8M0FNU>, %bs: tensor<1024x64xf8E8M0FNU>) -> tensor<1024x1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n, ko, kb) -> (m, ko, kb)>, affine_map<(m, n, ko, kb) -> (n, ko, kb)>,
                       affine_map<(m, n, ko, kb) -> (m, ko)>, affine_map<(m, n, ko, kb) -> (n, ko)>,
                       affine_map<(m, n, ko, kb) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b, %as, %bs : tensor<1024x64x32xf8E4M3FN>, tensor<1024x64x32xf8E4M3FN>,
                             tensor<1024x64xf8E8M0FNU>, tensor<1024x64xf8E8M0FNU>)
      outs(%f : tensor<1024x1024xf32>) {
  ^bb0(%x: f8E4M3FN, %y: f8E4M3FN, %xs: f8E8M0FNU, %ys: f8E8M0FNU, %c: f32):
    %p = arith.scaling_extf %x, %xs : f8E4M3FN, f8E8M0FNU to f32
    %q = arith.scaling_extf %y, %ys : f8E4M3FN, f8E8M0FNU to f32
    %u = arith.mulf %p, %q : f32
    %v = arith.addf %c, %u : f32
    linalg.yield %v : f32
  } -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
