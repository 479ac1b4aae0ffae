func.func @mm(%a: tensor<256x128xf32>, %b: tensor<128x512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %mm = linalg.matmul ins(%a, %b : tensor<256x128xf32>, tensor<128x512xf32>) outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %mm : tensor<256x512xf32>
}
func.func @conv(%image: tensor<2x57x57x16xf32>, %filter: tensor<3x3x16x32xf32>) -> tensor<2x28x28x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x28x28x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x28x28x32xf32>) -> tensor<2x28x28x32xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%image, %filter : tensor<2x57x57x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<2x28x28x32xf32>) -> tensor<2x28x28x32xf32>
  return %conv : tensor<2x28x28x32xf32>
}
func.func @rows(%a: tensor<512x1024xf32>) -> tensor<512xf32> {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<512xf32>
  %init = linalg.fill ins(%one : f32) outs(%empty : tensor<512xf32>) -> tensor<512xf32>
  %max = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<512x1024xf32>) outs(%init : tensor<512xf32>) {
  ^bb0(%x: f32, %y: f32):
    %absolute = math.absf %x : f32
    %max = arith.maximumf %absolute, %y : f32
    linalg.yield %max : f32
  } -> tensor<512xf32>
  return %max : tensor<512xf32>
}
func.func @attention(%q: tensor<4x64x64xf32>, %k: tensor<4x128x64xf32>, %v: tensor<4x128x64xf32>) -> tensor<4x64x64xf32> {
  %scale = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %attended = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]>
    ins(%q, %k, %v, %scale : tensor<4x64x64xf32>, tensor<4x128x64xf32>, tensor<4x128x64xf32>, f32) outs(%empty : tensor<4x64x64xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<4x64x64xf32>
  return %attended : tensor<4x64x64xf32>
}
