func.func @main() -> tensor<4xf32> {
  %x = util.unfoldable_constant dense<[3.0, 1.0, 2.0, 0.0]> : tensor<4xf32>
  %0 = iree_linalg_ext.sort dimension(0) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %1 : i1
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
