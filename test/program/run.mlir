// A program is run, and timed.

// RUN: %iree_tuner run %s --input 64x32xf32=1 --input 32x96xf32=2 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: %iree_tuner bench %s --json | FileCheck %s --check-prefix=TIME
// RUN: not %iree_tuner run %s --save %s 2>&1 | FileCheck %s --check-prefix=FILE

// VALUES: @main
// VALUES: 0 64x96xfloat32 64 64 64 64 64
// TIME: {"version": "default", "median_us": {{[0-9.]+}}, "least_us": {{[0-9.]+}}, "most_us": {{[0-9.]+}}, "samples": 16}
// FILE: error: {{.*}}run.mlir: this is a file, not a folder

func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x96xf32>) -> tensor<64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %sums = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x96xf32>) outs(%zeros : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %sums : tensor<64x96xf32>
}
