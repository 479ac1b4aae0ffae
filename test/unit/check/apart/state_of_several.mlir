// A cache that is read before it is written, a position, and a scale, over three functions.
util.global private mutable @cache = dense<0.5> : tensor<8x32xf16>
util.global private mutable @position = dense<2> : tensor<i32>
util.global private mutable @scale = 2.0 : f32
func.func @step(%x: tensor<1x32xf16>, %w: tensor<32x32xf16>) -> tensor<8x32xf16> {
  %c = util.global.load @cache : tensor<8x32xf16>
  %p = util.global.load @position : tensor<i32>
  %k = stablehlo.dot %x, %w : (tensor<1x32xf16>, tensor<32x32xf16>) -> tensor<1x32xf16>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %u = stablehlo.dynamic_update_slice %c, %k, %p, %z : (tensor<8x32xf16>, tensor<1x32xf16>, tensor<i32>, tensor<i32>) -> tensor<8x32xf16>
  util.global.store %u, @cache : tensor<8x32xf16>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %q = stablehlo.add %p, %one : tensor<i32>
  util.global.store %q, @position : tensor<i32>
  return %u : tensor<8x32xf16>
}
func.func @enlarge(%f: f32) {
  %s = util.global.load @scale : f32
  %t = arith.mulf %s, %f : f32
  util.global.store %t, @scale : f32
  return
}
func.func @read(%w: tensor<32x8xf16>) -> (tensor<8x8xf32>, tensor<i32>) {
  %c = util.global.load @cache : tensor<8x32xf16>
  %s = util.global.load @scale : f32
  %p = util.global.load @position : tensor<i32>
  %y = stablehlo.dot %c, %w : (tensor<8x32xf16>, tensor<32x8xf16>) -> tensor<8x8xf32>
  %u = tensor.from_elements %s : tensor<f32>
  %t = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %r = stablehlo.multiply %y, %t : tensor<8x8xf32>
  return %r, %p : tensor<8x8xf32>, tensor<i32>
}
