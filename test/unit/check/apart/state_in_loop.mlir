// A loop writes to a global, and what follows reads it.
util.global private mutable @sum = dense<1.0> : tensor<4x16xf32>
util.global private mutable @count = 3 : i32
func.func @main(%a: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> (tensor<4x16xf32>, tensor<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %s = util.global.load @sum : tensor<4x16xf32>
    %b = stablehlo.add %s, %a : tensor<4x16xf32>
    %y = stablehlo.dot %b, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %t = stablehlo.tanh %y : tensor<4x16xf32>
    util.global.store %t, @sum : tensor<4x16xf32>
    %n = util.global.load @count : i32
    %one = arith.constant 1 : i32
    %m = arith.addi %n, %one : i32
    util.global.store %m, @count : i32
  }
  %s = util.global.load @sum : tensor<4x16xf32>
  %r = stablehlo.dot %s, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %n = util.global.load @count : i32
  %k = tensor.from_elements %n : tensor<i32>
  return %r, %k : tensor<4x16xf32>, tensor<i32>
}
