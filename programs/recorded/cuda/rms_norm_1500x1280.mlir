func.func @main(%a: tensor<1500x1280xf16>, %w: tensor<1280xf32>) -> tensor<1500x1280xf16> {
  %x = stablehlo.convert %a : (tensor<1500x1280xf16>) -> tensor<1500x1280xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<1500xf32>
  %inv = stablehlo.constant dense<7.812500000e-04> : tensor<1500xf32>
  %sq = stablehlo.multiply %x, %x : tensor<1500x1280xf32>
  %s = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1500x1280xf32>, tensor<f32>) -> tensor<1500xf32>
  %mean = stablehlo.multiply %s, %inv : tensor<1500xf32>
  %me = stablehlo.add %mean, %eps : tensor<1500xf32>
  %r = stablehlo.rsqrt %me : tensor<1500xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<1500xf32>) -> tensor<1500x1280xf32>
  %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<1280xf32>) -> tensor<1500x1280xf32>
  %y = stablehlo.multiply %x, %rb : tensor<1500x1280xf32>
  %z = stablehlo.multiply %y, %wb : tensor<1500x1280xf32>
  %o = stablehlo.convert %z : (tensor<1500x1280xf32>) -> tensor<1500x1280xf16>
  return %o : tensor<1500x1280xf16>
}
