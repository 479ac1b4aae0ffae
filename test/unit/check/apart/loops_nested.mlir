// A loop in a loop; the inner one has another product, and its number of passes is the outer one's.
func.func @main(%a: tensor<4x24xbf16>, %w: tensor<24x24xbf16>) -> tensor<4x24xbf16> {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c1 to %c3 step %c1 iter_args(%x = %a) -> tensor<4x24xbf16> {
    %p = stablehlo.dot %x, %w : (tensor<4x24xbf16>, tensor<24x24xbf16>) -> tensor<4x24xbf16>
    %h = stablehlo.tanh %p : tensor<4x24xbf16>
    %c0 = arith.constant 0 : index
    %s = scf.for %j = %c0 to %i step %c1 iter_args(%y = %h) -> tensor<4x24xbf16> {
      %g = stablehlo.add %y, %a : tensor<4x24xbf16>
      %q = stablehlo.dot %g, %w : (tensor<4x24xbf16>, tensor<24x24xbf16>) -> tensor<4x24xbf16>
      %t = stablehlo.tanh %q : tensor<4x24xbf16>
      scf.yield %t : tensor<4x24xbf16>
    }
    scf.yield %s : tensor<4x24xbf16>
  }
  return %r : tensor<4x24xbf16>
}
