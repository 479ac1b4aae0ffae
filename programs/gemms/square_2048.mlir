// A square product; half precision, sums in 32 bits, as a layer of a model needs it.
func.func @main(%a: tensor<2048x2048xf16>, %b: tensor<2048x2048xf16>) -> tensor<2048x2048xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %sums = linalg.matmul ins(%a, %b : tensor<2048x2048xf16>, tensor<2048x2048xf16>) outs(%init : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %half = arith.truncf %sums : tensor<2048x2048xf32> to tensor<2048x2048xf16>
  return %half : tensor<2048x2048xf16>
}
