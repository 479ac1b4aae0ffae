// A size of which the program says a range, in two dimensions of an i8 product.
util.func public @main(%a: tensor<?x?xi8>, %b: tensor<?x24xi8>) -> tensor<?x24xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tensor.dim %a, %c0 : tensor<?x?xi8>
  %q = tensor.dim %a, %c1 : tensor<?x?xi8>
  %m:2 = util.assume.int %p<umin = 8, umax = 64, udiv = 8>, %q<umin = 8, umax = 64, udiv = 8> : index, index
  %x = flow.tensor.tie_shape %a : tensor<?x?xi8>{%m#0, %m#1}
  %y = flow.tensor.tie_shape %b : tensor<?x24xi8>{%m#1}
  %z = arith.constant 0 : i32
  %e = tensor.empty(%m#0) : tensor<?x24xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<?x24xi32>) -> tensor<?x24xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x?xi8>, tensor<?x24xi8>) outs(%f : tensor<?x24xi32>) {
  ^bb0(%u: i8, %v: i8, %o: i32):
    %s = arith.extsi %u : i8 to i32
    %t = arith.extsi %v : i8 to i32
    %w = arith.muli %s, %t : i32
    %g = arith.addi %w, %o : i32
    linalg.yield %g : i32
  } -> tensor<?x24xi32>
  util.return %r : tensor<?x24xi32>
}
