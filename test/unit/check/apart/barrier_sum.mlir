func.func @sum() -> tensor<4xi32> {
  %c = util.unfoldable_constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %a = util.unfoldable_constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi32>
  %b = util.unfoldable_constant dense<1> : tensor<2xi32>
  %0 = linalg.matvec ins(%a, %b : tensor<4x2xi32>, tensor<2xi32>) outs(%c : tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
