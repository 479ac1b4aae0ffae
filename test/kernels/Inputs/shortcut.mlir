// The strided 1x1 convolution of a ResNet's shortcut. As its images are results of another convolution, the
// compiler makes a reduction with strided maps of it. Alone it is a product of every second pixel.
#id = affine_map<(n, y, x, f) -> (n, y, x, f)>
func.func @main(%given: tensor<2x16x16x16xf32>, %before: tensor<1x1x16x32xf32>, %left: tensor<1x1x32x64xf32>)
    -> tensor<2x8x8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<2x16x16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%wide : tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%given, %before : tensor<2x16x16x16xf32>, tensor<1x1x16x32xf32>)
      outs(%start : tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%sums : tensor<2x16x16x32xf32>) outs(%wide : tensor<2x16x16x32xf32>) {
    ^bb0(%s: f32, %o: f32):
      %t = arith.maximumf %s, %zero : f32
      linalg.yield %t : f32
  } -> tensor<2x16x16x32xf32>
  %empty = tensor.empty() : tensor<2x8x8x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
  %short = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %left : tensor<2x16x16x32xf32>, tensor<1x1x32x64xf32>)
      outs(%init : tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
  return %short : tensor<2x8x8x64xf32>
}
