// A number that the program takes is an argument of the dispatch, as a size would be: it is tuned all the same.
// RUN: %iree_tuner extract %s --json | FileCheck %s
// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 1 --strategy shuffle --keep-flags --no-profile --no-db --json -o %t.spec.mlir | FileCheck %s --check-prefix=TUNED

// CHECK: "tunable": true, "reason": ""
// CHECK-SAME: "op": "matmul"
// TUNED: "trials": 1, "outcomes": {{[{]"(ok|too_slow)"}}
func.func @scaled(%a: tensor<64x96xf32>, %b: tensor<96x128xf32>, %scale: f32) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x128xf32>) outs(%init : tensor<64x128xf32>) -> tensor<64x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  } -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}
