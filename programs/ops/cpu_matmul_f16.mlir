func.func @main(%a: tensor<512x1024xf16>, %b: tensor<1024x768xf16>) -> tensor<512x768xf16> {
  %c = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<512x768xf16>
  %f = linalg.fill ins(%c : f16) outs(%e : tensor<512x768xf16>) -> tensor<512x768xf16>
  %r = linalg.matmul ins(%a, %b : tensor<512x1024xf16>, tensor<1024x768xf16>) outs(%f : tensor<512x768xf16>) -> tensor<512x768xf16>
  return %r : tensor<512x768xf16>
}
