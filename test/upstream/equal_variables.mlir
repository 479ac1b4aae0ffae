// Two variables of zeros get a 1 and a 2 at a position, and are returned.
util.global private mutable @a = dense<0.0> : tensor<4xf32>
util.global private mutable @b = dense<0.0> : tensor<4xf32>
util.func private @write(%at: index) attributes {inlining_policy = #util.inline.never} {
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %a = util.global.load @a : tensor<4xf32>
  %b = util.global.load @b : tensor<4xf32>
  %0 = tensor.insert_slice %one into %a[%at] [1] [1] : tensor<1xf32> into tensor<4xf32>
  %1 = tensor.insert_slice %two into %b[%at] [1] [1] : tensor<1xf32> into tensor<4xf32>
  util.global.store %0, @a : tensor<4xf32>
  util.global.store %1, @b : tensor<4xf32>
  util.return
}
util.func public @main() -> (tensor<4xf32>, tensor<4xf32>) {
  %c1 = arith.constant 1 : index
  %at = util.optimization_barrier %c1 : index
  util.call @write(%at) : (index) -> ()
  %a = util.global.load @a : tensor<4xf32>
  %b = util.global.load @b : tensor<4xf32>
  util.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
