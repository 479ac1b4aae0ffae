// One of two products, as the sum of the input says.
func.func @main(%a: tensor<4x32xf32>, %v: tensor<32x8xf32>, %w: tensor<32x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x32xf32>, tensor<f32>) -> tensor<f32>
  %t = stablehlo.constant dense<20.0> : tensor<f32>
  %p = stablehlo.compare GT, %s, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    %y = stablehlo.dot %a, %v : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
    stablehlo.return %y : tensor<4x8xf32>
  }, {
    %b = stablehlo.negate %a : tensor<4x32xf32>
    %y = stablehlo.dot %b, %w : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
    %x = stablehlo.tanh %y : tensor<4x8xf32>
    stablehlo.return %x : tensor<4x8xf32>
  }) : (tensor<i1>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
