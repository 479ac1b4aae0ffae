func.func @main(%a: tensor<512x4096xbf16>, %w: tensor<4096xf32>) -> tensor<512x4096xbf16> {
  %x = stablehlo.convert %a : (tensor<512x4096xbf16>) -> tensor<512x4096xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<512xf32>
  %inv = stablehlo.constant dense<2.441406250e-04> : tensor<512xf32>
  %sq = stablehlo.multiply %x, %x : tensor<512x4096xf32>
  %s = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x4096xf32>, tensor<f32>) -> tensor<512xf32>
  %mean = stablehlo.multiply %s, %inv : tensor<512xf32>
  %me = stablehlo.add %mean, %eps : tensor<512xf32>
  %r = stablehlo.rsqrt %me : tensor<512xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<512xf32>) -> tensor<512x4096xf32>
  %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4096xf32>) -> tensor<512x4096xf32>
  %y = stablehlo.multiply %x, %rb : tensor<512x4096xf32>
  %z = stablehlo.multiply %y, %wb : tensor<512x4096xf32>
  %o = stablehlo.convert %z : (tensor<512x4096xf32>) -> tensor<512x4096xbf16>
  return %o : tensor<512x4096xbf16>
}
