func.func @main(%x: tensor<1536x1000xf32>) -> tensor<1536xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1536xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1536xf32>) -> tensor<1536xf32>
  %r = linalg.reduce ins(%x : tensor<1536x1000xf32>) outs(%init : tensor<1536xf32>) dimensions = [1]
    (%in: f32, %acc: f32) {
      %sum = arith.addf %in, %acc : f32
      linalg.yield %sum : f32
    }
  return %r : tensor<1536xf32>
}
