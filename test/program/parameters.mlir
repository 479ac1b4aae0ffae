// A program with weights outside of it, state, and several entry functions.
// RUN: %iree_tuner extract %s --json | FileCheck %s
// RUN: %iree_tuner extract %s --json --function=second --function=@third | FileCheck %s --check-prefix=SOME
// RUN: not %iree_tuner extract %s --function=forth 2>&1 | FileCheck %s --check-prefix=WRONG

// CHECK: "dispatch": "first{{.*}}_matmul_4x8x16_f32", "calls": 1, {{.*}}"tunable": true
// CHECK: "dispatch": "second{{.*}}_matmul_8x8x16_f32", "calls": 2, {{.*}}"tunable": true
// CHECK: "dispatch": "third{{.*}}", "calls": 1,

// SOME: "dispatch": "first{{.*}}_matmul_4x8x16_f32", "calls": 0,
// SOME: "dispatch": "second{{.*}}_matmul_8x8x16_f32", "calls": 2,
// SOME: "dispatch": "third{{.*}}", "calls": 1,

// WRONG: error: {{.*}}the program has no entry function 'forth' (one of: first, second, third)
// WRONG-NOT: Traceback

module @program {
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<16x8xf32>
util.global private mutable @sum = dense<0.0> : tensor<8x8xf32>

func.func @first(%x: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %w = util.global.load @w : tensor<16x8xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
func.func @second(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %w = util.global.load @w : tensor<16x8xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = linalg.matmul ins(%y, %w : tensor<8x16xf32>, tensor<16x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r, %s : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func @third(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %sum = util.global.load @sum : tensor<8x8xf32>
  %r = arith.addf %sum, %x : tensor<8x8xf32>
  util.global.store %r, @sum : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
}
