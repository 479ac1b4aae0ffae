func.func @sum_of_all(%a: tensor<64x128xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%a : tensor<64x128xf32>) outs(%init : tensor<f32>) {
  ^bb0(%x: f32, %sum: f32):
    %s = arith.addf %x, %sum : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
