// A convolution of size 1 that takes every other position, as a generic op: what ResNet's shortcuts become.
func.func @main(%image: tensor<16x16x256xf32>, %weights: tensor<256x128xf32>) -> tensor<8x8x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8x128xf32>) -> tensor<8x8x128xf32>
  %sums = linalg.generic {
      indexing_maps = [affine_map<(y, x, n, k) -> (y * 2, x * 2, k)>, affine_map<(y, x, n, k) -> (k, n)>,
                       affine_map<(y, x, n, k) -> (y, x, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %weights : tensor<16x16x256xf32>, tensor<256x128xf32>) outs(%init : tensor<8x8x128xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<8x8x128xf32>
  return %sums : tensor<8x8x128xf32>
}
