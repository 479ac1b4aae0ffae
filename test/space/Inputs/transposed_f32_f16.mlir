// Heads beside each other become rows, as after an attention: converted on the way.
func.func @main(%a: tensor<2x20x256x64xf32>) -> tensor<2x256x20x64xf16> {
  %e = tensor.empty() : tensor<2x256x20x64xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a : tensor<2x20x256x64xf32>) outs(%e : tensor<2x256x20x64xf16>) {
  ^bb0(%x: f32, %o: f16):
    %y = arith.truncf %x : f32 to f16
    linalg.yield %y : f16
  } -> tensor<2x256x20x64xf16>
  return %r : tensor<2x256x20x64xf16>
}
