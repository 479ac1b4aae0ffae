module {
  func.func public @main(%arg0: tensor<2x30x36x32xf16>) -> (tensor<2x35x40x32xf16> {jax.result_info = "result"}) {
    %0 = call @_pad(%arg0) : (tensor<2x30x36x32xf16>) -> tensor<2x35x40x32xf16>
    %1 = stablehlo.abs %0 : tensor<2x35x40x32xf16>
    return %1 : tensor<2x35x40x32xf16>
  }
  func.func private @_pad(%arg0: tensor<2x30x36x32xf16>) -> tensor<2x35x40x32xf16> {
    %0 = stablehlo.slice %arg0 [0:2, 0:3, 0:36, 0:32] : (tensor<2x30x36x32xf16>) -> tensor<2x3x36x32xf16>
    %1 = call @_flip(%0) : (tensor<2x3x36x32xf16>) -> tensor<2x3x36x32xf16>
    %2 = stablehlo.concatenate %1, %arg0, dim = 1 : (tensor<2x3x36x32xf16>, tensor<2x30x36x32xf16>) -> tensor<2x33x36x32xf16>
    %3 = stablehlo.slice %2 [0:2, 31:33, 0:36, 0:32] : (tensor<2x33x36x32xf16>) -> tensor<2x2x36x32xf16>
    %4 = call @_flip_0(%3) : (tensor<2x2x36x32xf16>) -> tensor<2x2x36x32xf16>
    %5 = stablehlo.concatenate %2, %4, dim = 1 : (tensor<2x33x36x32xf16>, tensor<2x2x36x32xf16>) -> tensor<2x35x36x32xf16>
    %6 = stablehlo.slice %5 [0:2, 0:35, 0:1, 0:32] : (tensor<2x35x36x32xf16>) -> tensor<2x35x1x32xf16>
    %7 = call @_flip_1(%6) : (tensor<2x35x1x32xf16>) -> tensor<2x35x1x32xf16>
    %8 = stablehlo.concatenate %7, %5, dim = 2 : (tensor<2x35x1x32xf16>, tensor<2x35x36x32xf16>) -> tensor<2x35x37x32xf16>
    %9 = stablehlo.slice %8 [0:2, 0:35, 34:37, 0:32] : (tensor<2x35x37x32xf16>) -> tensor<2x35x3x32xf16>
    %10 = call @_flip_2(%9) : (tensor<2x35x3x32xf16>) -> tensor<2x35x3x32xf16>
    %11 = stablehlo.concatenate %8, %10, dim = 2 : (tensor<2x35x37x32xf16>, tensor<2x35x3x32xf16>) -> tensor<2x35x40x32xf16>
    return %11 : tensor<2x35x40x32xf16>
  }
  func.func private @_flip(%arg0: tensor<2x3x36x32xf16>) -> tensor<2x3x36x32xf16> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x3x36x32xf16>
    return %0 : tensor<2x3x36x32xf16>
  }
  func.func private @_flip_0(%arg0: tensor<2x2x36x32xf16>) -> tensor<2x2x36x32xf16> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x2x36x32xf16>
    return %0 : tensor<2x2x36x32xf16>
  }
  func.func private @_flip_1(%arg0: tensor<2x35x1x32xf16>) -> tensor<2x35x1x32xf16> {
    %0 = stablehlo.reverse %arg0, dims = [2] : tensor<2x35x1x32xf16>
    return %0 : tensor<2x35x1x32xf16>
  }
  func.func private @_flip_2(%arg0: tensor<2x35x3x32xf16>) -> tensor<2x35x3x32xf16> {
    %0 = stablehlo.reverse %arg0, dims = [2] : tensor<2x35x3x32xf16>
    return %0 : tensor<2x35x3x32xf16>
  }
}
