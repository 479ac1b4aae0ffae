// As JAX writes `lax.while_loop`: a counter, a condition on data, and products.
func.func @main(%a: tensor<2x16xf32>, %w: tensor<16x16xf32>) -> (tensor<i32>, tensor<2x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<2x16xf32>
    cond {
      %five = stablehlo.constant dense<5> : tensor<i32>
      %less = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %z = stablehlo.constant dense<-1.0e+30> : tensor<f32>
      %most = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x16xf32>, tensor<f32>) -> tensor<f32>
      %limit = stablehlo.constant dense<1.0e+04> : tensor<f32>
      %small = stablehlo.compare LT, %most, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %both = stablehlo.and %less, %small : tensor<i1>
      stablehlo.return %both : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.dot %x, %w : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<2x16xf32>
    }
  return %r#0, %r#1 : tensor<i32>, tensor<2x16xf32>
}
