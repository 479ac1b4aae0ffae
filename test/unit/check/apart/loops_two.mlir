// Two loops, one behind the other, with a product between them; the second counts as the first one's result says.
func.func @main(%a: tensor<4x32xf32>, %w: tensor<32x32xf32>, %n: tensor<i32>) -> tensor<4x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<4x32xf32> {
    %y = stablehlo.dot %x, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
    %t = stablehlo.tanh %y : tensor<4x32xf32>
    scf.yield %t : tensor<4x32xf32>
  }
  %m = stablehlo.dot %r, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %v = tensor.extract %n[] : tensor<i32>
  %one = arith.constant 1 : i32
  %k = arith.addi %v, %one : i32
  %u = arith.index_cast %k : i32 to index
  %q = scf.for %i = %c0 to %u step %c1 iter_args(%x = %m) -> tensor<4x32xf32> {
    %y = stablehlo.add %x, %a : tensor<4x32xf32>
    %s = stablehlo.dot %y, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
    %t = stablehlo.tanh %s : tensor<4x32xf32>
    scf.yield %t : tensor<4x32xf32>
  }
  %o = stablehlo.dot %q, %w : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  return %o : tensor<4x32xf32>
}
