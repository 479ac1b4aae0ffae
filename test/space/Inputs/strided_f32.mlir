// A convolution of size 1 with a stride, as JAX lowers a shortcut of ResNet-50: every other row and column.
// Of an argument of the program the compiler would slice them out, and multiply plainly.
func.func @main(%x: tensor<56x56x256xf32>, %w: tensor<256x512xf32>) -> tensor<28x28x512xf32> {
  %y = math.absf %x : tensor<56x56x256xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<28x28x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<28x28x512xf32>) -> tensor<28x28x512xf32>
  %r = linalg.generic {indexing_maps = [
      affine_map<(a, b, n, k) -> (a * 2, b * 2, k)>, affine_map<(a, b, n, k) -> (k, n)>,
      affine_map<(a, b, n, k) -> (a, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%y, %w : tensor<56x56x256xf32>, tensor<256x512xf32>) outs(%init : tensor<28x28x512xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<28x28x512xf32>
  return %r : tensor<28x28x512xf32>
}
