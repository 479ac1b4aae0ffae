// A counter that every call increments.
util.global private mutable @n = dense<0> : tensor<i32>
func.func @main(%x: tensor<1x64xf32>, %w: tensor<64x256xf32>) -> (tensor<1x256xf32>, tensor<i32>) {
  %n = util.global.load @n : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %m = arith.addi %n, %one : tensor<i32>
  util.global.store %m, @n : tensor<i32>
  %r = stablehlo.dot %x, %w : (tensor<1x64xf32>, tensor<64x256xf32>) -> tensor<1x256xf32>
  return %r, %m : tensor<1x256xf32>, tensor<i32>
}
