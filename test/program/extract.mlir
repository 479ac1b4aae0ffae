// A call in a loop counts once and is marked; equal dispatches of two functions are one executable.
// RUN: %iree_tuner extract %s --json | FileCheck %s
// RUN: %iree_tuner extract %s | FileCheck %s --check-prefix=TABLE

// CHECK-DAG: "dispatch": "{{.*}}matmul_64x32x48_f32", "calls": 2, "in_loop": true, "tunable": true
// CHECK-DAG: "family": "contraction", "op": "matmul", "loops": [64, 32, 48]
// CHECK-DAG: "native_vector_bytes":
// TABLE: dispatch
// TABLE: matmul_64x32x48_f32 {{ *}}2+ (loop) {{ *}}contraction {{ *}}matmul_64x32x48_f32_f32_f32

func.func @looped(%a: tensor<64x48xf32>, %b: tensor<48x32xf32>, %n: index) -> tensor<64x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> tensor<64x32xf32> {
    %f = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
    %m = linalg.matmul ins(%a, %b : tensor<64x48xf32>, tensor<48x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
    scf.yield %m : tensor<64x32xf32>
  }
  return %r : tensor<64x32xf32>
}

func.func @once(%a: tensor<64x48xf32>, %b: tensor<48x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x48xf32>, tensor<48x32xf32>) outs(%init : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %m : tensor<64x32xf32>
}
