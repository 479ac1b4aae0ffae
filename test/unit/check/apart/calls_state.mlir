// A private function that changes a global, called twice; scalars are passed to it.
util.global private mutable @total = dense<10> : tensor<24xi64>
util.func private @add(%x: tensor<24xi64>, %k: i64) -> tensor<24xi64> attributes {inlining_policy = #util.inline.never} {
  %t = util.global.load @total : tensor<24xi64>
  %u = tensor.from_elements %k : tensor<i64>
  %b = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<i64>) -> tensor<24xi64>
  %m = stablehlo.multiply %x, %b : tensor<24xi64>
  %s = stablehlo.add %t, %m : tensor<24xi64>
  util.global.store %s, @total : tensor<24xi64>
  util.return %s : tensor<24xi64>
}
util.func public @main(%a: tensor<24xi64>, %k: i64) -> tensor<24xi64> {
  %x = util.call @add(%a, %k) : (tensor<24xi64>, i64) -> tensor<24xi64>
  %y = util.call @add(%x, %k) : (tensor<24xi64>, i64) -> tensor<24xi64>
  util.return %y : tensor<24xi64>
}
