func.func @main(%a: tensor<256xf32>) -> tensor<256xf32> {
  %r = arith.addf %a, %a : tensor<256xf32>
  return %r : tensor<256xf32>
}
