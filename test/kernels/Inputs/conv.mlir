// A convolution of 3x3 with relu.
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
func.func @main(%image: tensor<1x10x10x16xf32>, %filter: tensor<3x3x16x32xf32>) -> tensor<1x8x8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %sums = linalg.conv_2d_nhwc_hwcf
      ins(%image, %filter : tensor<1x10x10x16xf32>, tensor<3x3x16x32xf32>)
      outs(%zeros : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %result = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sums : tensor<1x8x8x32xf32>) outs(%empty : tensor<1x8x8x32xf32>) {
  ^bb0(%sum: f32, %old: f32):
    %positive = arith.maximumf %sum, %zero : f32
    linalg.yield %positive : f32
  } -> tensor<1x8x8x32xf32>
  return %result : tensor<1x8x8x32xf32>
}
