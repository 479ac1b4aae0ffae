"""Small programs that several tests use."""

MATMUL = """
func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %init = arith.constant INIT : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %fill = linalg.fill ins(%init : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>)
       outs(%fill : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
"""

ZERO_MATMUL = MATMUL.replace("INIT", "0.0")
ONE_MATMUL = MATMUL.replace("INIT", "1.0")

BATCH_OF_ONE_CONVOLUTION = """
func.func @conv(%a: tensor<1x16x16x8xf32>, %b: tensor<3x3x8x16xf32>) -> tensor<1x14x14x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%a, %b : tensor<1x16x16x8xf32>, tensor<3x3x8x16xf32>)
       outs(%fill : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  return %r : tensor<1x14x14x16xf32>
}
"""

TWO_EPILOGUES = """
func.func @two(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
       outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %relu = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.maximumf %x, %zero : f32
      linalg.yield %y : f32
  } -> tensor<64x64xf32>
  %n = linalg.matmul ins(%relu, %b : tensor<64x64xf32>, tensor<64x64xf32>)
       outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %relu, %n : tensor<64x64xf32>, tensor<64x64xf32>
}
"""
