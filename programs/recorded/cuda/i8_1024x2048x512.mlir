func.func @main(%a: tensor<1024x512xi8>, %b: tensor<512x2048xi8>) -> tensor<1024x2048xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1024x2048xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1024x2048xi32>) -> tensor<1024x2048xi32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x512xi8>, tensor<512x2048xi8>) outs(%init : tensor<1024x2048xi32>) -> tensor<1024x2048xi32>
  return %r : tensor<1024x2048xi32>
}
