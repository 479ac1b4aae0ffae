// Sizes that are known only at run time: what is dynamic, what is supported, and what to do about it.
// RUN: %iree_tuner extract %s --json | FileCheck %s
// RUN: %iree_tuner extract %s --dim 20 --json | FileCheck %s --check-prefix=SIZED
// RUN: not %iree_tuner tune %s --effort quick -o %t.mlir 2>&1 | FileCheck %s --check-prefix=TUNE
// RUN: not ls %t.mlir
// RUN: not %iree_tuner extract %s --dim 2.0=20 2>&1 | FileCheck %s --check-prefix=WRONG

// CHECK: "dispatch": "open{{.*}}_matmul_Dx32x48_f32", {{.*}}"tunable": false, "reason": "dimension m is dynamic: set it with --dim 128"
// CHECK: "dispatch": "bounded{{.*}}_matmul_Dx32x64_f32", {{.*}}"tunable": false, "reason": "dimension m is dynamic: set it with --dim 128"
// CHECK: "dispatch": "reduction{{.*}}_matmul_16x32xD_f32", {{.*}}"tunable": false, "reason": "loop 2 is dynamic: set it with --dim 128"

// SIZED: "tunable": true, {{.*}}"loops": [20, 32, 48], {{.*}}"dynamic": [{"loop": 0, "lower": 0, "upper": null, "multiple": 1}]
// SIZED: "tunable": false, "reason": "its m cannot be 20: the program says 16 to 4096 in steps of 16"
// SIZED: "tunable": true, {{.*}}"loops": [16, 32, 20], {{.*}}"dynamic": [{"loop": 2, "lower": 0, "upper": null, "multiple": 1}]

// TUNE: error: {{.*}}dynamic.mlir: the program has no dispatches that can be tuned
// TUNE-NOT: Traceback

// WRONG: error: {{.*}}dynamic.mlir: dimension 0 of input 2 is not dynamic (dynamic dimensions: 0.0, 0.1, 1.0)

func.func @open(%a: tensor<?x48xf32>, %b: tensor<48x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x48xf32>
  %empty = tensor.empty(%m) : tensor<?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x48xf32>, tensor<48x32xf32>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}

func.func @bounded(%a: tensor<?x64xf32>, %b: tensor<64x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x64xf32>
  %m = util.assume.int %d<umin = 16, umax = 4096, udiv = 16> : index
  %empty = tensor.empty(%m) : tensor<?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x32xf32>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}

func.func @reduction(%a: tensor<16x?xf32>, %b: tensor<?x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16x?xf32>, tensor<?x32xf32>) outs(%init : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
