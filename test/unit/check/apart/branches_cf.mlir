// A loop of blocks and branches, as many times as an argument says.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x64xf32>, %n: i32) -> tensor<1x64xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%c0, %a : i32, tensor<1x64xf32>)
^head(%i: i32, %x: tensor<1x64xf32>):
  %p = arith.cmpi slt, %i, %n : i32
  cf.cond_br %p, ^body, ^exit
^body:
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<1x64xf32>, tensor<64x64xf32>) outs(%f : tensor<1x64xf32>) -> tensor<1x64xf32>
  %j = arith.addi %i, %c1 : i32
  cf.br ^head(%j, %y : i32, tensor<1x64xf32>)
^exit:
  return %x : tensor<1x64xf32>
}
