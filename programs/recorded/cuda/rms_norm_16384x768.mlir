func.func @main(%a: tensor<16384x768xf16>, %w: tensor<768xf32>) -> tensor<16384x768xf16> {
  %x = stablehlo.convert %a : (tensor<16384x768xf16>) -> tensor<16384x768xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<16384xf32>
  %inv = stablehlo.constant dense<1.302083333e-03> : tensor<16384xf32>
  %sq = stablehlo.multiply %x, %x : tensor<16384x768xf32>
  %s = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16384x768xf32>, tensor<f32>) -> tensor<16384xf32>
  %mean = stablehlo.multiply %s, %inv : tensor<16384xf32>
  %me = stablehlo.add %mean, %eps : tensor<16384xf32>
  %r = stablehlo.rsqrt %me : tensor<16384xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<16384xf32>) -> tensor<16384x768xf32>
  %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<768xf32>) -> tensor<16384x768xf32>
  %y = stablehlo.multiply %x, %rb : tensor<16384x768xf32>
  %z = stablehlo.multiply %y, %wb : tensor<16384x768xf32>
  %o = stablehlo.convert %z : (tensor<16384x768xf32>) -> tensor<16384x768xf16>
  return %o : tensor<16384x768xf16>
}
