// Rotary embeddings as complex numbers, made of two parts and taken apart again.
func.func @main(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>, %r: tensor<16xcomplex<f32>>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.complex %x, %y : tensor<4x16xcomplex<f32>>
  %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<16xcomplex<f32>>) -> tensor<4x16xcomplex<f32>>
  %t = stablehlo.multiply %c, %b : tensor<4x16xcomplex<f32>>
  %i = stablehlo.imag %t : (tensor<4x16xcomplex<f32>>) -> tensor<4x16xf32>
  %o = stablehlo.dot %i, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
