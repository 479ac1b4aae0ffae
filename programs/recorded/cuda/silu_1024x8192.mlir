func.func @main(%a: tensor<1024x8192xf16>, %b: tensor<1024x8192xf16>) -> tensor<1024x8192xf16> {
  %x = stablehlo.convert %a : (tensor<1024x8192xf16>) -> tensor<1024x8192xf32>
  %l = stablehlo.logistic %x : tensor<1024x8192xf32>
  %m = stablehlo.multiply %x, %l : tensor<1024x8192xf32>
  %c = stablehlo.convert %m : (tensor<1024x8192xf32>) -> tensor<1024x8192xf16>
  %o = stablehlo.multiply %c, %b : tensor<1024x8192xf16>
  return %o : tensor<1024x8192xf16>
}
