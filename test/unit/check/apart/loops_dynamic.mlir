// A value of a dynamic size goes through a loop, beside another.
func.func @main(%a: tensor<2x16xf32>, %w: tensor<16x16xf32>, %b: tensor<?x16xf32>) -> (tensor<2x16xf32>, tensor<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %b, %c0 : tensor<?x16xf32>
  %r:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %a, %y = %b) -> (tensor<2x16xf32>, tensor<?x16xf32>) {
    %p = stablehlo.dot %x, %w : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
    %q = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %h = stablehlo.tanh %q : tensor<?x16xf32>
    scf.yield %p, %h : tensor<2x16xf32>, tensor<?x16xf32>
  }
  %o = stablehlo.dot_general %r#1, %w, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
  return %r#0, %o : tensor<2x16xf32>, tensor<?x16xf32>
}
