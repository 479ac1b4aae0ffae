// Functions that call others, and are not inlined.
util.func private @product(%x: tensor<2x16xf16>, %w: tensor<16x16xf16>) -> tensor<2x16xf16> attributes {inlining_policy = #util.inline.never} {
  %y = stablehlo.dot %x, %w : (tensor<2x16xf16>, tensor<16x16xf16>) -> tensor<2x16xf16>
  util.return %y : tensor<2x16xf16>
}
util.func private @layer(%x: tensor<2x16xf16>, %w: tensor<16x16xf16>) -> tensor<2x16xf16> attributes {inlining_policy = #util.inline.never} {
  %s = stablehlo.tanh %x : tensor<2x16xf16>
  %y = util.call @product(%s, %w) : (tensor<2x16xf16>, tensor<16x16xf16>) -> tensor<2x16xf16>
  %t = stablehlo.tanh %y : tensor<2x16xf16>
  %z = util.call @product(%t, %w) : (tensor<2x16xf16>, tensor<16x16xf16>) -> tensor<2x16xf16>
  util.return %z : tensor<2x16xf16>
}
util.func public @main(%a: tensor<2x16xf16>, %w: tensor<16x16xf16>) -> tensor<2x16xf16> {
  %y = util.call @layer(%a, %w) : (tensor<2x16xf16>, tensor<16x16xf16>) -> tensor<2x16xf16>
  util.return %y : tensor<2x16xf16>
}
