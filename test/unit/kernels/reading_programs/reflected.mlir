module {
  func.func public @main(%arg0: tensor<2x1024x40xf16>) -> (tensor<2x1029x40xf16> {jax.result_info = "result"}) {
    %0 = call @_pad(%arg0) : (tensor<2x1024x40xf16>) -> tensor<2x1029x40xf16>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f16>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x1029x40xf16>
    %2 = stablehlo.multiply %0, %1 : tensor<2x1029x40xf16>
    return %2 : tensor<2x1029x40xf16>
  }
  func.func private @_pad(%arg0: tensor<2x1024x40xf16>) -> tensor<2x1029x40xf16> {
    %0 = stablehlo.slice %arg0 [0:2, 1018:1023, 0:40] : (tensor<2x1024x40xf16>) -> tensor<2x5x40xf16>
    %1 = call @_flip(%0) : (tensor<2x5x40xf16>) -> tensor<2x5x40xf16>
    %2 = stablehlo.concatenate %arg0, %1, dim = 1 : (tensor<2x1024x40xf16>, tensor<2x5x40xf16>) -> tensor<2x1029x40xf16>
    return %2 : tensor<2x1029x40xf16>
  }
  func.func private @_flip(%arg0: tensor<2x5x40xf16>) -> tensor<2x5x40xf16> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x5x40xf16>
    return %0 : tensor<2x5x40xf16>
  }
}
