util.global private @weights = #flow.parameter.named<"model"::"weights"> : tensor<8x16xf32>

func.func @scale(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %w = util.global.load @weights : tensor<8x16xf32>
  %r = arith.mulf %a, %w : tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @other(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %w = util.global.load @weights : tensor<8x16xf32>
  %s = arith.subf %a, %w : tensor<8x16xf32>
  %r = math.exp %s : tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}
