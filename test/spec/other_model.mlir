// A spec that was made for one program hits what another has in common with it, and only that.
// RUN: sed 's/distribution = .64, 64, 0./distribution = [32, 128, 0]/' %S/Inputs/matmul.jsonl > %t.jsonl
// RUN: %iree_tuner spec build %t.jsonl -o %t.spec.mlir
// RUN: %iree_tuner spec check %t.spec.mlir --program %s --json | FileCheck %s
// RUN: %iree_tuner compile %s --spec %t.spec.mlir -o %t.tuned.vmfb
// RUN: %iree_tuner compile %s -o %t.vmfb
// RUN: not cmp %t.tuned.vmfb %t.vmfb

// CHECK: {"matcher": "match_matmul_256x512x128_f32_f32_f32", "hits": "one", "dispatches": [{"dispatch": "other_dispatch_1", "count": 1,
// CHECK-NOT: "problem"

func.func @other(%x: tensor<256x96xf32>, %u: tensor<96x128xf32>, %w: tensor<128x512xf32>, %b: tensor<512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<256x128xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<256x128xf32>) -> tensor<256x128xf32>
  %h = linalg.matmul ins(%x, %u : tensor<256x96xf32>, tensor<96x128xf32>) outs(%i0 : tensor<256x128xf32>) -> tensor<256x128xf32>
  %e1 = tensor.empty() : tensor<256x512xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<256x512xf32>) -> tensor<256x512xf32>
  %r = linalg.matmul ins(%h, %w : tensor<256x128xf32>, tensor<128x512xf32>) outs(%i1 : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %r : tensor<256x512xf32>
}
