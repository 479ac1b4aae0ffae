// Scalars of several types are arguments and results.
func.func @main(%a: tensor<32xf32>, %x: f32, %n: i64, %m: i8, %b: i1, %i: index) -> (tensor<32xf32>, f32, i64, i32, i1) {
  %e = tensor.empty() : tensor<32xf32>
  %k = arith.index_cast %i : index to i64
  %s = arith.extsi %m : i8 to i64
  %t = arith.addi %k, %s : i64
  %u = arith.addi %t, %n : i64
  %v = arith.trunci %u : i64 to i32
  %f = arith.sitofp %v : i32 to f32
  %w = arith.addf %f, %x : f32
  %h = arith.constant 0.1 : f32
  %w2 = arith.mulf %w, %h : f32
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<32xf32>) outs(%e : tensor<32xf32>) {
  ^bb0(%y: f32, %o: f32):
    %z = arith.mulf %y, %w2 : f32
    %q = arith.select %b, %z, %y : f32
    linalg.yield %q : f32
  } -> tensor<32xf32>
  return %r, %w2, %u, %v, %b : tensor<32xf32>, f32, i64, i32, i1
}
