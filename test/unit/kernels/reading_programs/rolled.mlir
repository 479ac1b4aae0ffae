module {
  func.func public @main(%arg0: tensor<2x32x36x32xf16>) -> (tensor<2x32x36x32xf16> {jax.result_info = "result"}) {
    %0 = call @_roll_static(%arg0) : (tensor<2x32x36x32xf16>) -> tensor<2x32x36x32xf16>
    %1 = stablehlo.negate %0 : tensor<2x32x36x32xf16>
    return %1 : tensor<2x32x36x32xf16>
  }
  func.func private @_roll_static(%arg0: tensor<2x32x36x32xf16>) -> tensor<2x32x36x32xf16> {
    %0 = stablehlo.slice %arg0 [0:2, 29:32, 0:36, 0:32] : (tensor<2x32x36x32xf16>) -> tensor<2x3x36x32xf16>
    %1 = stablehlo.slice %arg0 [0:2, 0:29, 0:36, 0:32] : (tensor<2x32x36x32xf16>) -> tensor<2x29x36x32xf16>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<2x3x36x32xf16>, tensor<2x29x36x32xf16>) -> tensor<2x32x36x32xf16>
    %3 = stablehlo.slice %2 [0:2, 0:32, 31:36, 0:32] : (tensor<2x32x36x32xf16>) -> tensor<2x32x5x32xf16>
    %4 = stablehlo.slice %2 [0:2, 0:32, 0:31, 0:32] : (tensor<2x32x36x32xf16>) -> tensor<2x32x31x32xf16>
    %5 = stablehlo.concatenate %3, %4, dim = 2 : (tensor<2x32x5x32xf16>, tensor<2x32x31x32xf16>) -> tensor<2x32x36x32xf16>
    return %5 : tensor<2x32x36x32xf16>
  }
}
