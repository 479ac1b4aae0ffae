// What does not fit a program is told at once, before anything is tried.
// RUN: not %iree_tuner tune %s --function mian -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not %iree_tuner tune %s --input 4x8xf32=1 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not %iree_tuner tune %s --input missing.npy -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not %iree_tuner tune %s --input x -o %t.mlir 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not %iree_tuner tune %s --parameters missing.irpa -o %t.mlir 2>&1 | FileCheck %s --check-prefix=ARCHIVE
// RUN: not %iree_tuner tune %s --parameters modle=%s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not %iree_tuner tune %s --parameters %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not ls %t.mlir

// FUNCTION: error: the program has no entry function 'mian' (did you mean main?)
// SHAPE: error: input 0 must have the type 4x16xf32, but has 4x8xf32
// FILE: error: missing.npy: no such file
// VALUE: error: 'x' is not an input (give a number, a .npy, .npz or .safetensors file, or a shape such as 2x3xf32=1.0)
// ARCHIVE: error: missing.irpa: no such file
// SCOPE: error: {{.*}}no parameter of the program has the scope 'modle' (did you mean 'model'?)
// FORMAT: error: {{.*}}cannot read the parameters: {{.*}}unsupported file format

module @program {
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<16x8xf32>
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %w = util.global.load @w : tensor<16x8xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
}
