func.func @main(%a: tensor<2048x2816xf16>, %b: tensor<2048x2816xf16>) -> tensor<2048x2816xf16> {
  %x = stablehlo.convert %a : (tensor<2048x2816xf16>) -> tensor<2048x2816xf32>
  %l = stablehlo.logistic %x : tensor<2048x2816xf32>
  %m = stablehlo.multiply %x, %l : tensor<2048x2816xf32>
  %c = stablehlo.convert %m : (tensor<2048x2816xf32>) -> tensor<2048x2816xf16>
  %o = stablehlo.multiply %c, %b : tensor<2048x2816xf16>
  return %o : tensor<2048x2816xf16>
}
