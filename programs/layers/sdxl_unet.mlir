// Linear layers, convolutions and self-attention of SDXL's UNet for a picture of 1024x1024, two at once (guidance), a function each.
// Half precision, sums in 32 bits; linear layers as PyTorch keeps them, images with channels last.

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#mixed = affine_map<(b, m, n, k1, k2) -> (b, m, n)>

func.func @wide_proj(%a: tensor<8192x640xf16>, %b: tensor<640x640xf16>) -> tensor<8192x640xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8192x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8192x640xf32>) -> tensor<8192x640xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<8192x640xf16>, tensor<640x640xf16>) outs(%init : tensor<8192x640xf32>) -> tensor<8192x640xf32>
  %half = arith.truncf %sums : tensor<8192x640xf32> to tensor<8192x640xf16>
  return %half : tensor<8192x640xf16>
}

func.func @wide_gated(%a: tensor<8192x640xf16>, %b: tensor<5120x640xf16>) -> tensor<8192x5120xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8192x5120xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8192x5120xf32>) -> tensor<8192x5120xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<8192x640xf16>, tensor<5120x640xf16>) outs(%init : tensor<8192x5120xf32>) -> tensor<8192x5120xf32>
  %half = arith.truncf %sums : tensor<8192x5120xf32> to tensor<8192x5120xf16>
  return %half : tensor<8192x5120xf16>
}

func.func @wide_out(%a: tensor<8192x2560xf16>, %b: tensor<640x2560xf16>) -> tensor<8192x640xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8192x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8192x640xf32>) -> tensor<8192x640xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<8192x2560xf16>, tensor<640x2560xf16>) outs(%init : tensor<8192x640xf32>) -> tensor<8192x640xf32>
  %half = arith.truncf %sums : tensor<8192x640xf32> to tensor<8192x640xf16>
  return %half : tensor<8192x640xf16>
}

func.func @deep_proj(%a: tensor<2048x1280xf16>, %b: tensor<1280x1280xf16>) -> tensor<2048x1280xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x1280xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<2048x1280xf16>, tensor<1280x1280xf16>) outs(%init : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %half = arith.truncf %sums : tensor<2048x1280xf32> to tensor<2048x1280xf16>
  return %half : tensor<2048x1280xf16>
}

func.func @deep_gated(%a: tensor<2048x1280xf16>, %b: tensor<10240x1280xf16>) -> tensor<2048x10240xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x10240xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x10240xf32>) -> tensor<2048x10240xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<2048x1280xf16>, tensor<10240x1280xf16>) outs(%init : tensor<2048x10240xf32>) -> tensor<2048x10240xf32>
  %half = arith.truncf %sums : tensor<2048x10240xf32> to tensor<2048x10240xf16>
  return %half : tensor<2048x10240xf16>
}

func.func @deep_out(%a: tensor<2048x5120xf16>, %b: tensor<1280x5120xf16>) -> tensor<2048x1280xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x1280xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %sums = linalg.matmul indexing_maps = [#left, #right, #out] ins(%a, %b : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  %half = arith.truncf %sums : tensor<2048x1280xf32> to tensor<2048x1280xf16>
  return %half : tensor<2048x1280xf16>
}

func.func @conv_128x128x320(%x: tensor<2x130x130x320xf16>, %f: tensor<3x3x320x320xf16>) -> tensor<2x128x128x320xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x128x128x320xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x128x128x320xf32>) -> tensor<2x128x128x320xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<2x130x130x320xf16>, tensor<3x3x320x320xf16>) outs(%init : tensor<2x128x128x320xf32>) -> tensor<2x128x128x320xf32>
  %half = arith.truncf %sums : tensor<2x128x128x320xf32> to tensor<2x128x128x320xf16>
  return %half : tensor<2x128x128x320xf16>
}

func.func @conv_64x64x640(%x: tensor<2x66x66x640xf16>, %f: tensor<3x3x640x640xf16>) -> tensor<2x64x64x640xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x64x64x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x64x64x640xf32>) -> tensor<2x64x64x640xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<2x66x66x640xf16>, tensor<3x3x640x640xf16>) outs(%init : tensor<2x64x64x640xf32>) -> tensor<2x64x64x640xf32>
  %half = arith.truncf %sums : tensor<2x64x64x640xf32> to tensor<2x64x64x640xf16>
  return %half : tensor<2x64x64x640xf16>
}

func.func @conv_32x32x1280(%x: tensor<2x34x34x1280xf16>, %f: tensor<3x3x1280x1280xf16>) -> tensor<2x32x32x1280xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x32x32x1280xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x32x32x1280xf32>) -> tensor<2x32x32x1280xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<2x34x34x1280xf16>, tensor<3x3x1280x1280xf16>) outs(%init : tensor<2x32x32x1280xf32>) -> tensor<2x32x32x1280xf32>
  %half = arith.truncf %sums : tensor<2x32x32x1280xf32> to tensor<2x32x32x1280xf16>
  return %half : tensor<2x32x32x1280xf16>
}

func.func @wide_attention(%q: tensor<20x4096x64xf16>, %k: tensor<20x4096x64xf16>, %v: tensor<20x4096x64xf16>) -> tensor<20x4096x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<20x4096x64xf16>
  %mixed = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mixed]>
      ins(%q, %k, %v, %scale : tensor<20x4096x64xf16>, tensor<20x4096x64xf16>, tensor<20x4096x64xf16>, f16) outs(%empty : tensor<20x4096x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x4096x64xf16>
  return %mixed : tensor<20x4096x64xf16>
}

func.func @deep_attention(%q: tensor<40x1024x64xf16>, %k: tensor<40x1024x64xf16>, %v: tensor<40x1024x64xf16>) -> tensor<40x1024x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<40x1024x64xf16>
  %mixed = iree_linalg_ext.attention <indexing_maps = [#query, #key, #value, #scale, #mixed]>
      ins(%q, %k, %v, %scale : tensor<40x1024x64xf16>, tensor<40x1024x64xf16>, tensor<40x1024x64xf16>, f16) outs(%empty : tensor<40x1024x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<40x1024x64xf16>
  return %mixed : tensor<40x1024x64xf16>
}
