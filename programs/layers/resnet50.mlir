// The convolutions of ResNet-50 (v1.5) for 16 pictures of 224x224, a function each; images are padded outside.
// Half precision, sums in 32 bits, channels last.

func.func @stem_7x7(%x: tensor<16x230x230x3xf16>, %f: tensor<7x7x3x64xf16>) -> tensor<16x112x112x64xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x112x112x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x112x112x64xf32>) -> tensor<16x112x112x64xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %f : tensor<16x230x230x3xf16>, tensor<7x7x3x64xf16>) outs(%init : tensor<16x112x112x64xf32>) -> tensor<16x112x112x64xf32>
  %half = arith.truncf %sums : tensor<16x112x112x64xf32> to tensor<16x112x112x64xf16>
  return %half : tensor<16x112x112x64xf16>
}

func.func @narrow_56x56x64(%x: tensor<16x56x56x256xf16>, %f: tensor<1x1x256x64xf16>) -> tensor<16x56x56x64xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x56x56x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x56x56x64xf32>) -> tensor<16x56x56x64xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x56x56x256xf16>, tensor<1x1x256x64xf16>) outs(%init : tensor<16x56x56x64xf32>) -> tensor<16x56x56x64xf32>
  %half = arith.truncf %sums : tensor<16x56x56x64xf32> to tensor<16x56x56x64xf16>
  return %half : tensor<16x56x56x64xf16>
}

func.func @conv_56x56x64(%x: tensor<16x58x58x64xf16>, %f: tensor<3x3x64x64xf16>) -> tensor<16x56x56x64xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x56x56x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x56x56x64xf32>) -> tensor<16x56x56x64xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x58x58x64xf16>, tensor<3x3x64x64xf16>) outs(%init : tensor<16x56x56x64xf32>) -> tensor<16x56x56x64xf32>
  %half = arith.truncf %sums : tensor<16x56x56x64xf32> to tensor<16x56x56x64xf16>
  return %half : tensor<16x56x56x64xf16>
}

func.func @wide_56x56x256(%x: tensor<16x56x56x64xf16>, %f: tensor<1x1x64x256xf16>) -> tensor<16x56x56x256xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x56x56x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x56x56x256xf32>) -> tensor<16x56x56x256xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x56x56x64xf16>, tensor<1x1x64x256xf16>) outs(%init : tensor<16x56x56x256xf32>) -> tensor<16x56x56x256xf32>
  %half = arith.truncf %sums : tensor<16x56x56x256xf32> to tensor<16x56x56x256xf16>
  return %half : tensor<16x56x56x256xf16>
}

func.func @narrow_28x28x128(%x: tensor<16x28x28x512xf16>, %f: tensor<1x1x512x128xf16>) -> tensor<16x28x28x128xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x28x28x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x28x28x128xf32>) -> tensor<16x28x28x128xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x28x28x512xf16>, tensor<1x1x512x128xf16>) outs(%init : tensor<16x28x28x128xf32>) -> tensor<16x28x28x128xf32>
  %half = arith.truncf %sums : tensor<16x28x28x128xf32> to tensor<16x28x28x128xf16>
  return %half : tensor<16x28x28x128xf16>
}

func.func @conv_28x28x128(%x: tensor<16x30x30x128xf16>, %f: tensor<3x3x128x128xf16>) -> tensor<16x28x28x128xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x28x28x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x28x28x128xf32>) -> tensor<16x28x28x128xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x30x30x128xf16>, tensor<3x3x128x128xf16>) outs(%init : tensor<16x28x28x128xf32>) -> tensor<16x28x28x128xf32>
  %half = arith.truncf %sums : tensor<16x28x28x128xf32> to tensor<16x28x28x128xf16>
  return %half : tensor<16x28x28x128xf16>
}

func.func @wide_28x28x512(%x: tensor<16x28x28x128xf16>, %f: tensor<1x1x128x512xf16>) -> tensor<16x28x28x512xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x28x28x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x28x28x512xf32>) -> tensor<16x28x28x512xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x28x28x128xf16>, tensor<1x1x128x512xf16>) outs(%init : tensor<16x28x28x512xf32>) -> tensor<16x28x28x512xf32>
  %half = arith.truncf %sums : tensor<16x28x28x512xf32> to tensor<16x28x28x512xf16>
  return %half : tensor<16x28x28x512xf16>
}

func.func @narrow_14x14x256(%x: tensor<16x14x14x1024xf16>, %f: tensor<1x1x1024x256xf16>) -> tensor<16x14x14x256xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x14x14x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x14x14x256xf32>) -> tensor<16x14x14x256xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x14x14x1024xf16>, tensor<1x1x1024x256xf16>) outs(%init : tensor<16x14x14x256xf32>) -> tensor<16x14x14x256xf32>
  %half = arith.truncf %sums : tensor<16x14x14x256xf32> to tensor<16x14x14x256xf16>
  return %half : tensor<16x14x14x256xf16>
}

func.func @conv_14x14x256(%x: tensor<16x16x16x256xf16>, %f: tensor<3x3x256x256xf16>) -> tensor<16x14x14x256xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x14x14x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x14x14x256xf32>) -> tensor<16x14x14x256xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x16x16x256xf16>, tensor<3x3x256x256xf16>) outs(%init : tensor<16x14x14x256xf32>) -> tensor<16x14x14x256xf32>
  %half = arith.truncf %sums : tensor<16x14x14x256xf32> to tensor<16x14x14x256xf16>
  return %half : tensor<16x14x14x256xf16>
}

func.func @wide_14x14x1024(%x: tensor<16x14x14x256xf16>, %f: tensor<1x1x256x1024xf16>) -> tensor<16x14x14x1024xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x14x14x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x14x14x1024xf32>) -> tensor<16x14x14x1024xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x14x14x256xf16>, tensor<1x1x256x1024xf16>) outs(%init : tensor<16x14x14x1024xf32>) -> tensor<16x14x14x1024xf32>
  %half = arith.truncf %sums : tensor<16x14x14x1024xf32> to tensor<16x14x14x1024xf16>
  return %half : tensor<16x14x14x1024xf16>
}

func.func @narrow_7x7x512(%x: tensor<16x7x7x2048xf16>, %f: tensor<1x1x2048x512xf16>) -> tensor<16x7x7x512xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x7x7x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x7x7x512xf32>) -> tensor<16x7x7x512xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x7x7x2048xf16>, tensor<1x1x2048x512xf16>) outs(%init : tensor<16x7x7x512xf32>) -> tensor<16x7x7x512xf32>
  %half = arith.truncf %sums : tensor<16x7x7x512xf32> to tensor<16x7x7x512xf16>
  return %half : tensor<16x7x7x512xf16>
}

func.func @conv_7x7x512(%x: tensor<16x9x9x512xf16>, %f: tensor<3x3x512x512xf16>) -> tensor<16x7x7x512xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x7x7x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x7x7x512xf32>) -> tensor<16x7x7x512xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x9x9x512xf16>, tensor<3x3x512x512xf16>) outs(%init : tensor<16x7x7x512xf32>) -> tensor<16x7x7x512xf32>
  %half = arith.truncf %sums : tensor<16x7x7x512xf32> to tensor<16x7x7x512xf16>
  return %half : tensor<16x7x7x512xf16>
}

func.func @wide_7x7x2048(%x: tensor<16x7x7x512xf16>, %f: tensor<1x1x512x2048xf16>) -> tensor<16x7x7x2048xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x7x7x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x7x7x2048xf32>) -> tensor<16x7x7x2048xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %f : tensor<16x7x7x512xf16>, tensor<1x1x512x2048xf16>) outs(%init : tensor<16x7x7x2048xf32>) -> tensor<16x7x7x2048xf32>
  %half = arith.truncf %sums : tensor<16x7x7x2048xf32> to tensor<16x7x7x2048xf16>
  return %half : tensor<16x7x7x2048xf16>
}

func.func @halving_28x28x128(%x: tensor<16x58x58x128xf16>, %f: tensor<3x3x128x128xf16>) -> tensor<16x28x28x128xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x28x28x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x28x28x128xf32>) -> tensor<16x28x28x128xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %f : tensor<16x58x58x128xf16>, tensor<3x3x128x128xf16>) outs(%init : tensor<16x28x28x128xf32>) -> tensor<16x28x28x128xf32>
  %half = arith.truncf %sums : tensor<16x28x28x128xf32> to tensor<16x28x28x128xf16>
  return %half : tensor<16x28x28x128xf16>
}

func.func @halving_14x14x256(%x: tensor<16x30x30x256xf16>, %f: tensor<3x3x256x256xf16>) -> tensor<16x14x14x256xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x14x14x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x14x14x256xf32>) -> tensor<16x14x14x256xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %f : tensor<16x30x30x256xf16>, tensor<3x3x256x256xf16>) outs(%init : tensor<16x14x14x256xf32>) -> tensor<16x14x14x256xf32>
  %half = arith.truncf %sums : tensor<16x14x14x256xf32> to tensor<16x14x14x256xf16>
  return %half : tensor<16x14x14x256xf16>
}

func.func @halving_7x7x512(%x: tensor<16x16x16x512xf16>, %f: tensor<3x3x512x512xf16>) -> tensor<16x7x7x512xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x7x7x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x7x7x512xf32>) -> tensor<16x7x7x512xf32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %f : tensor<16x16x16x512xf16>, tensor<3x3x512x512xf16>) outs(%init : tensor<16x7x7x512xf32>) -> tensor<16x7x7x512xf32>
  %half = arith.truncf %sums : tensor<16x7x7x512xf32> to tensor<16x7x7x512xf16>
  return %half : tensor<16x7x7x512xf16>
}
