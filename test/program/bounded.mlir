// Sizes that a program excludes are refused by all commands; an allowed one is suggested.
// RUN: not %iree_tuner extract %s --dim 128 2>&1 | FileCheck %s
// RUN: not %iree_tuner run %s --dim 0.0=128 2>&1 | FileCheck %s
// RUN: not %iree_tuner bench %s --dim 128 2>&1 | FileCheck %s
// RUN: not %iree_tuner profile %s --dim 128 2>&1 | FileCheck %s
// RUN: not %iree_tuner space %s --dim 128 2>&1 | FileCheck %s
// RUN: not %iree_tuner verify %s --dim 128 2>&1 | FileCheck %s
// RUN: not %iree_tuner tune %s --dim 288,128 --no-db -o %t.mlir 2>&1 | FileCheck %s
// RUN: not %iree_tuner run %s --input 128x64xf32=1 2>&1 | FileCheck %s
// RUN: %iree_tuner extract %s --json | FileCheck %s --check-prefix=OPEN
// RUN: not %iree_tuner run %s --dim 288,336 2>&1 | FileCheck %s --check-prefix=SEVERAL

// CHECK: error: {{.*}}bounded.mlir: dimension 0 of input 0 cannot be 128: the program says 288 to 2016 in steps of 48; for example --dim 288
// OPEN: set it with --dim 288
// SEVERAL: error: --dim has several sizes, but only tune compares them (give one size for each)

func.func @main(%a: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x64xf32>
  %n = util.assume.int %d<umin = 256, umax = 2048, udiv = 48> : index
  %t = flow.tensor.tie_shape %a : tensor<?x64xf32>{%n}
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = linalg.matmul ins(%t, %w : tensor<?x64xf32>, tensor<64x64xf32>) outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
