module {
  func.func public @main(%arg0: tensor<2x64x36x32xf16>) -> (tensor<2x32x36x32xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:2, 0:64:2, 0:36, 0:32] : (tensor<2x64x36x32xf16>) -> tensor<2x32x36x32xf16>
    %1 = call @_flip(%0) : (tensor<2x32x36x32xf16>) -> tensor<2x32x36x32xf16>
    return %1 : tensor<2x32x36x32xf16>
  }
  func.func private @_flip(%arg0: tensor<2x32x36x32xf16>) -> tensor<2x32x36x32xf16> {
    %0 = stablehlo.reverse %arg0, dims = [1, 2] : tensor<2x32x36x32xf16>
    return %0 : tensor<2x32x36x32xf16>
  }
}
