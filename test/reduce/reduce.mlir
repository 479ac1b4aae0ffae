// A program with the script that fails on it, made as small as what fails: the judge is iree-opt.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %iree_tuner spec reduce %s --judge '%iree_opt {} --transform-interpreter' --judge-output "does not exist in target op" -o %t/small.mlir --json 2> %t/told | FileCheck %s --check-prefix=JSON
// RUN: FileCheck %s --check-prefix=TOLD < %t/told
// RUN: FileCheck %s < %t/small.mlir
// RUN: not %iree_opt %t/small.mlir --transform-interpreter 2>&1 | FileCheck %s --check-prefix=FAILS
// What it does not show is told with what the judge said; so is a judge that cannot be run.
// RUN: not %iree_tuner spec reduce %t/small.mlir --judge 'echo no; exit 7' -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NOT
// RUN: not %iree_tuner spec reduce %t/small.mlir --judge './no-such-script' -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %iree_tuner spec reduce %t/small.mlir --judge true --json 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: not ls %t/none.mlir

// CHECK-NOT: @other
// CHECK-NOT: test.
// CHECK: linalg.matmul
// CHECK-NOT: math.
// CHECK: transform.structured.split
// CHECK-NOT: transform.structured.match ops{["linalg.fill"]}
// JSON: {"path": "{{.*}}small.mlir", "ops_before": {{[0-9]+}}, "ops": {{[0-9]+}}, "bytes_before": {{[0-9]+}}, "bytes": {{[0-9]+}}, "judged": {{[0-9]+}}, {{.*}}"interrupted": false}
// TOLD: ops, {{[0-9]+}} bytes, {{[0-9]+}} tested
// TOLD: small.mlir: {{[0-9]+}} ops, {{[0-9]+}} bytes -> {{[0-9]+}} ops, {{[0-9]+}} bytes; {{[0-9]+}} candidates tested
// FAILS: error: {{.*}}does not exist in target op
// NOT: error: {{.*}}small.mlir: the input does not trigger the defect: the judge said: status 7, no
// NONE: status 127, {{.*}} (the judge runs in an empty folder: use absolute paths)
// USAGE: error: --json requires --output

module attributes {transform.with_named_sequence, test.origin = "framework"} {
  func.func @other(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = math.exp %a : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {test.layer = 1 : i32} {
    %zero = arith.constant 0.0 : f32
    %0 = math.exp %a : tensor<8x8xf32>
    %empty = tensor.empty() : tensor<8x8xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = linalg.matmul ins(%0, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = math.tanh %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.fill"]} in %module : (!transform.any_op) -> !transform.any_op
    %1 = transform.structured.generalize %0 : (!transform.any_op) -> !transform.any_op
    %2 = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %3 = transform.structured.split %2 after 4 {dimension = 9} : !transform.any_op
    transform.yield
  }
}
