// A dispatch with sizes that are known only at run time is listed, with the reason why it stays as it is.
// RUN: %iree_tuner extract %s --json | FileCheck %s
// RUN: not %iree_tuner tune %s --effort quick -o %t.mlir 2>&1 | FileCheck %s --check-prefix=TUNE
// RUN: not ls %t.mlir

// CHECK: "tunable": false, "reason": "its sizes or offsets are known only at run time"
// TUNE: error: {{.*}}dynamic.mlir: the program has no dispatches that can be tuned
// TUNE-NOT: Traceback

func.func @dynamic(%a: tensor<?x48xf32>, %b: tensor<48x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x48xf32>
  %empty = tensor.empty(%m) : tensor<?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x48xf32>, tensor<48x32xf32>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}
