// Two numbers are rounded to f16: 2^-15 and 2^-24, which are subnormal there.
func.func @main() -> tensor<2xf16> {
  %values = util.unfoldable_constant dense<[3.0517578125e-05, 5.9604644775390625e-08]> : tensor<2xf32>
  %empty = tensor.empty() : tensor<2xf16>
  %rounded = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%values : tensor<2xf32>) outs(%empty : tensor<2xf16>) {
  ^bb0(%value: f32, %out: f16):
    %narrow = arith.truncf %value : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<2xf16>
  return %rounded : tensor<2xf16>
}
