func.func @f4096x6144(%x: tensor<1x4096xf16>, %w: tensor<4096x6144xf16>) -> tensor<1x6144xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x4096xf16>, tensor<4096x6144xf16>) -> tensor<1x6144xf32>
  %1 = stablehlo.convert %0 : (tensor<1x6144xf32>) -> tensor<1x6144xf16>
  return %1 : tensor<1x6144xf16>
}
func.func @f4096x28672(%x: tensor<1x4096xf16>, %w: tensor<4096x28672xf16>) -> tensor<1x28672xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x4096xf16>, tensor<4096x28672xf16>) -> tensor<1x28672xf32>
  %1 = stablehlo.convert %0 : (tensor<1x28672xf32>) -> tensor<1x28672xf16>
  return %1 : tensor<1x28672xf16>
}
func.func @f14336x4096(%x: tensor<1x14336xf16>, %w: tensor<14336x4096xf16>) -> tensor<1x4096xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x14336xf16>, tensor<14336x4096xf16>) -> tensor<1x4096xf32>
  %1 = stablehlo.convert %0 : (tensor<1x4096xf32>) -> tensor<1x4096xf16>
  return %1 : tensor<1x4096xf16>
}
func.func @f4096x4096(%x: tensor<1x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<1x4096xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x4096xf16>, tensor<4096x4096xf16>) -> tensor<1x4096xf32>
  %1 = stablehlo.convert %0 : (tensor<1x4096xf32>) -> tensor<1x4096xf16>
  return %1 : tensor<1x4096xf16>
}
func.func @f2048x8192(%x: tensor<1x2048xf16>, %w: tensor<2048x8192xf16>) -> tensor<1x8192xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x2048xf16>, tensor<2048x8192xf16>) -> tensor<1x8192xf32>
  %1 = stablehlo.convert %0 : (tensor<1x8192xf32>) -> tensor<1x8192xf16>
  return %1 : tensor<1x8192xf16>
}
func.func @f3584x18944(%x: tensor<1x3584xf16>, %w: tensor<3584x18944xf16>) -> tensor<1x18944xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x3584xf16>, tensor<3584x18944xf16>) -> tensor<1x18944xf32>
  %1 = stablehlo.convert %0 : (tensor<1x18944xf32>) -> tensor<1x18944xf16>
  return %1 : tensor<1x18944xf16>
}
func.func @f8192x1024(%x: tensor<1x8192xf16>, %w: tensor<8192x1024xf16>) -> tensor<1x1024xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x8192xf16>, tensor<8192x1024xf16>) -> tensor<1x1024xf32>
  %1 = stablehlo.convert %0 : (tensor<1x1024xf32>) -> tensor<1x1024xf16>
  return %1 : tensor<1x1024xf16>
}
func.func @f4096x128256(%x: tensor<1x4096xf16>, %w: tensor<4096x128256xf16>) -> tensor<1x128256xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x4096xf16>, tensor<4096x128256xf16>) -> tensor<1x128256xf32>
  %1 = stablehlo.convert %0 : (tensor<1x128256xf32>) -> tensor<1x128256xf16>
  return %1 : tensor<1x128256xf16>
}