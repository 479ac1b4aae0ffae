// A group norm with silu as JAX lowers it: 8 groups of 20 channels.
func.func @main(%x: tensor<2x16x16x160xf16>, %scale: tensor<160xf16>, %bias: tensor<160xf16>) -> tensor<2x16x16x160xf16> {
  %wide = stablehlo.convert %x : (tensor<2x16x16x160xf16>) -> tensor<2x16x16x160xf32>
  %groups = stablehlo.reshape %wide : (tensor<2x16x16x160xf32>) -> tensor<2x16x16x8x20xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%groups init: %zero) applies stablehlo.add across dimensions = [1, 2, 4]
    : (tensor<2x16x16x8x20xf32>, tensor<f32>) -> tensor<2x8xf32>
  %count = stablehlo.constant dense<5120.0> : tensor<2x8xf32>
  %mean = stablehlo.divide %sum, %count : tensor<2x8xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x16x16x8x20xf32>
  %distances = stablehlo.subtract %groups, %means : tensor<2x16x16x8x20xf32>
  %squares = stablehlo.multiply %distances, %distances : tensor<2x16x16x8x20xf32>
  %squared = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1, 2, 4]
    : (tensor<2x16x16x8x20xf32>, tensor<f32>) -> tensor<2x8xf32>
  %variance = stablehlo.divide %squared, %count : tensor<2x8xf32>
  %epsilon = stablehlo.constant dense<1.0e-5> : tensor<2x8xf32>
  %sure = stablehlo.add %variance, %epsilon : tensor<2x8xf32>
  %root = stablehlo.rsqrt %sure : tensor<2x8xf32>
  %roots = stablehlo.broadcast_in_dim %root, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x16x16x8x20xf32>
  %normal = stablehlo.multiply %distances, %roots : tensor<2x16x16x8x20xf32>
  %image = stablehlo.reshape %normal : (tensor<2x16x16x8x20xf32>) -> tensor<2x16x16x160xf32>
  %wider = stablehlo.convert %scale : (tensor<160xf16>) -> tensor<160xf32>
  %scales = stablehlo.broadcast_in_dim %wider, dims = [3] : (tensor<160xf32>) -> tensor<2x16x16x160xf32>
  %scaled = stablehlo.multiply %image, %scales : tensor<2x16x16x160xf32>
  %wide_bias = stablehlo.convert %bias : (tensor<160xf16>) -> tensor<160xf32>
  %biases = stablehlo.broadcast_in_dim %wide_bias, dims = [3] : (tensor<160xf32>) -> tensor<2x16x16x160xf32>
  %whole = stablehlo.add %scaled, %biases : tensor<2x16x16x160xf32>
  %narrow = stablehlo.convert %whole : (tensor<2x16x16x160xf32>) -> tensor<2x16x16x160xf16>
  %minus = stablehlo.negate %narrow : tensor<2x16x16x160xf16>
  %power = stablehlo.exponential %minus : tensor<2x16x16x160xf16>
  %one = stablehlo.constant dense<1.0> : tensor<2x16x16x160xf16>
  %more = stablehlo.add %one, %power : tensor<2x16x16x160xf16>
  %part = stablehlo.divide %one, %more : tensor<2x16x16x160xf16>
  %end = stablehlo.multiply %narrow, %part : tensor<2x16x16x160xf16>
  return %end : tensor<2x16x16x160xf16>
}
