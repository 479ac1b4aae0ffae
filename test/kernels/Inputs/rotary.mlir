func.func @main(%rows: tensor<64x512xf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>) -> tensor<8x64x64xf16> {
  %heads = stablehlo.reshape %rows : (tensor<64x512xf16>) -> tensor<64x8x64xf16>
  %moved = stablehlo.transpose %heads, dims = [1, 0, 2] : (tensor<64x8x64xf16>) -> tensor<8x64x64xf16>
  %wide = stablehlo.convert %moved : (tensor<8x64x64xf16>) -> tensor<8x64x64xf32>
  %a = stablehlo.slice %wide [0:8, 0:64, 0:32] : (tensor<8x64x64xf32>) -> tensor<8x64x32xf32>
  %b = stablehlo.slice %wide [0:8, 0:64, 32:64] : (tensor<8x64x64xf32>) -> tensor<8x64x32xf32>
  %c = stablehlo.broadcast_in_dim %cos, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<8x64x32xf32>
  %s = stablehlo.broadcast_in_dim %sin, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<8x64x32xf32>
  %ac = stablehlo.multiply %a, %c : tensor<8x64x32xf32>
  %bs = stablehlo.multiply %b, %s : tensor<8x64x32xf32>
  %first = stablehlo.subtract %ac, %bs : tensor<8x64x32xf32>
  %bc = stablehlo.multiply %b, %c : tensor<8x64x32xf32>
  %as = stablehlo.multiply %a, %s : tensor<8x64x32xf32>
  %second = stablehlo.add %bc, %as : tensor<8x64x32xf32>
  %turned = stablehlo.concatenate %first, %second, dim = 2 : (tensor<8x64x32xf32>, tensor<8x64x32xf32>) -> tensor<8x64x64xf32>
  %result = stablehlo.convert %turned : (tensor<8x64x64xf32>) -> tensor<8x64x64xf16>
  return %result : tensor<8x64x64xf16>
}
