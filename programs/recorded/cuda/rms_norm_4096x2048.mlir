func.func @main(%a: tensor<4096x2048xf16>, %w: tensor<2048xf32>) -> tensor<4096x2048xf16> {
  %x = stablehlo.convert %a : (tensor<4096x2048xf16>) -> tensor<4096x2048xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<4096xf32>
  %inv = stablehlo.constant dense<4.882812500e-04> : tensor<4096xf32>
  %sq = stablehlo.multiply %x, %x : tensor<4096x2048xf32>
  %s = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x2048xf32>, tensor<f32>) -> tensor<4096xf32>
  %mean = stablehlo.multiply %s, %inv : tensor<4096xf32>
  %me = stablehlo.add %mean, %eps : tensor<4096xf32>
  %r = stablehlo.rsqrt %me : tensor<4096xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4096xf32>) -> tensor<4096x2048xf32>
  %wb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<2048xf32>) -> tensor<4096x2048xf32>
  %y = stablehlo.multiply %x, %rb : tensor<4096x2048xf32>
  %z = stablehlo.multiply %y, %wb : tensor<4096x2048xf32>
  %o = stablehlo.convert %z : (tensor<4096x2048xf32>) -> tensor<4096x2048xf16>
  return %o : tensor<4096x2048xf16>
}
