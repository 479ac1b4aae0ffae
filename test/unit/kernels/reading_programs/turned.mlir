module {
  func.func public @main(%arg0: tensor<2x32x36x32xf16>) -> (tensor<2x32x36x32xf16> {jax.result_info = "result"}) {
    %0 = call @_flip(%arg0) : (tensor<2x32x36x32xf16>) -> tensor<2x32x36x32xf16>
    %1 = stablehlo.add %0, %arg0 : tensor<2x32x36x32xf16>
    return %1 : tensor<2x32x36x32xf16>
  }
  func.func private @_flip(%arg0: tensor<2x32x36x32xf16>) -> tensor<2x32x36x32xf16> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x32x36x32xf16>
    return %0 : tensor<2x32x36x32xf16>
  }
}
