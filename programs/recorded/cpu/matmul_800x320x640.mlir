func.func @main(%a: tensor<800x320xf32>, %b: tensor<320x640xf32>) -> tensor<800x640xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<800x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<800x640xf32>) -> tensor<800x640xf32>
  %r = linalg.matmul ins(%a, %b : tensor<800x320xf32>, tensor<320x640xf32>) outs(%init : tensor<800x640xf32>) -> tensor<800x640xf32>
  return %r : tensor<800x640xf32>
}
