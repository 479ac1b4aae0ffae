// A product whose result is turned into complex numbers.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x256xf32>) -> tensor<1x256xcomplex<f32>> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x256xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x256xf32>) -> tensor<1x256xf32>
  %y = linalg.matmul ins(%a, %w : tensor<1x64xf32>, tensor<64x256xf32>) outs(%f : tensor<1x256xf32>) -> tensor<1x256xf32>
  %g = tensor.empty() : tensor<1x256xcomplex<f32>>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<1x256xf32>) outs(%g : tensor<1x256xcomplex<f32>>) {
  ^bb0(%x: f32, %o: complex<f32>):
    %c = complex.create %x, %x : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<1x256xcomplex<f32>>
  return %r : tensor<1x256xcomplex<f32>>
}
