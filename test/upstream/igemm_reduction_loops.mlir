// A convolution of NHWC whose filters have their reduced channels first, as the gradient of another's images has. Gathered,
// it has two reductions: the channels, and the window. The constraint emitter makes one of them.
#image = affine_map<(n, h, w, f, c, y, x) -> (n, h + y, w + x, c)>
#filters = affine_map<(n, h, w, f, c, y, x) -> (c, y, x, f)>
#result = affine_map<(n, h, w, f, c, y, x) -> (n, h, w, f)>
func.func @conv(%image: tensor<2x18x18x64xf16>, %filters: tensor<64x3x3x32xf16>) -> tensor<2x16x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x16x16x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
  %result = linalg.generic {
      indexing_maps = [#image, #filters, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  } ins(%image, %filters : tensor<2x18x18x64xf16>, tensor<64x3x3x32xf16>) outs(%init : tensor<2x16x16x32xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %wide_a = arith.extf %a : f16 to f32
    %wide_b = arith.extf %b : f16 to f32
    %product = arith.mulf %wide_a, %wide_b : f32
    %next = arith.addf %product, %sum : f32
    linalg.yield %next : f32
  } -> tensor<2x16x16x32xf32>
  return %result : tensor<2x16x16x32xf32>
}
