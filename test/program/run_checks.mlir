// `run` evaluates a program's own checks, as iree-check-module does. Checked values are results.

// RUN: not %iree_tuner run %s 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: not %iree_tuner run %s --json | FileCheck %s --check-prefix=JSON
// RUN: %iree_tuner run %s --function passes 2>&1 | FileCheck %s --check-prefix=PASSES

// CHECK: @passes, @fails
// CHECK: 2xfloat32 1 3
// CHECK: 2x2xint8 1 4
// ERR: 4 of 7 checks of the program pass
// ERR-DAG: check fails in @fails: expected 5, got 4 at [1, 1]
// ERR-DAG: check fails in @fails: expected 0.5, got 0.6000000238418579
// ERR-DAG: check fails in @fails: expected false, got 1
// JSON: {"checks": 7, "failed": ["@fails: expected
// PASSES: 4 of 4 checks of the program pass

func.func @passes() {
  %x = util.unfoldable_constant dense<[1.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const(%x, dense<[1.0, 3.0]> : tensor<2xf32>) : tensor<2xf32>
  %h = arith.truncf %x : tensor<2xf32> to tensor<2xbf16>
  check.expect_almost_eq_const(%h, dense<[1.0, 3.01]> : tensor<2xbf16>, atol 0.0, rtol 0.01) : tensor<2xbf16>
  %flags = util.unfoldable_constant dense<1> : tensor<3xi32>
  check.expect_all_true(%flags) : tensor<3xi32>
  %flag = util.unfoldable_constant 1 : i32
  check.expect_true(%flag) : i32
  return
}

func.func @fails() {
  %x = util.unfoldable_constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  check.expect_eq_const(%x, dense<[[1, 2], [3, 5]]> : tensor<2x2xi8>) : tensor<2x2xi8>
  %y = util.unfoldable_constant dense<0.6> : tensor<f32>
  check.expect_almost_eq_const(%y, dense<0.5> : tensor<f32>) : tensor<f32>
  %flag = util.unfoldable_constant 1 : i32
  check.expect_false(%flag) : i32
  return
}
