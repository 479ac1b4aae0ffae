// By hand: a sum without dimensions, and a scalar that the function takes.
func.func @main(%a: tensor<300xf32>, %k: f32) -> (tensor<f32>, tensor<300xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%a : tensor<300xf32>) outs(%f : tensor<f32>) {
  ^bb0(%x: f32, %o: f32):
    %m = arith.mulf %x, %k : f32
    %n = arith.addf %m, %o : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  %g = tensor.empty() : tensor<300xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a, %s : tensor<300xf32>, tensor<f32>) outs(%g : tensor<300xf32>) {
  ^bb0(%x: f32, %t: f32, %o: f32):
    %m = arith.divf %x, %t : f32
    linalg.yield %m : f32
  } -> tensor<300xf32>
  return %s, %r : tensor<f32>, tensor<300xf32>
}
