// As many results as values of a product are positive.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x256xf32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<1x256xf32>
  %f = linalg.fill ins(%z : f32) outs(%g : tensor<1x256xf32>) -> tensor<1x256xf32>
  %y = linalg.matmul ins(%a, %w : tensor<1x64xf32>, tensor<64x256xf32>) outs(%f : tensor<1x256xf32>) -> tensor<1x256xf32>
  %e = tensor.empty() : tensor<16xi32>
  %r:2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%t = %e, %n = %c0) -> (tensor<16xi32>, index) {
    %v = tensor.extract %y[%c0, %i] : tensor<1x256xf32>
    %p = arith.cmpf ogt, %v, %z : f32
    %q:2 = scf.if %p -> (tensor<16xi32>, index) {
      %k = arith.index_cast %i : index to i32
      %u = tensor.insert %k into %t[%n] : tensor<16xi32>
      %m = arith.addi %n, %c1 : index
      scf.yield %u, %m : tensor<16xi32>, index
    } else {
      scf.yield %t, %n : tensor<16xi32>, index
    }
    scf.yield %q#0, %q#1 : tensor<16xi32>, index
  }
  %s = tensor.extract_slice %r#0[0] [%r#1] [1] : tensor<16xi32> to tensor<?xi32>
  return %s : tensor<?xi32>
}
