func.func @main(%a: tensor<384x512xi8>, %b: tensor<512x512xi8>) -> tensor<384x512xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<384x512xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<384x512xi32>) -> tensor<384x512xi32>
  %r = linalg.matmul ins(%a, %b : tensor<384x512xi8>, tensor<512x512xi8>) outs(%init : tensor<384x512xi32>) -> tensor<384x512xi32>
  return %r : tensor<384x512xi32>
}
