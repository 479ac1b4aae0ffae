// Every dispatch and every transfer has a row, whatever can be tuned; initializers are not in it.
// RUN: %iree_tuner profile %s --no-roofline --all --json -o %t.json > %t.jsonl 2> %t.txt
// RUN: FileCheck %s --check-prefix=LINES < %t.jsonl
// RUN: FileCheck %s --check-prefix=NONE < %t.jsonl
// RUN: FileCheck %s --check-prefix=TABLE < %t.txt
// RUN: FileCheck %s --check-prefix=FILE < %t.json

// LINES-DAG: {"row": "dispatch", "name": "{{.*}}matmul_64x32x48_f32", "kind": "dispatch", "calls": 2.0, "time_us": {{[0-9.e-]+}}, "share": {{.*}}"flops": 393216.0, {{.*}}"element_type": "f32", {{.*}}"workload_name": "matmul_64x32x48_f32_f32_f32", "tunable": true
// LINES-DAG: "name": "({{(copy|copy and fill|fill)}})", "kind": "transfer"
// LINES-DAG: "name": "(between dispatches)", "kind": "overhead"
// LINES-DAG: {"row": "workload", {{.*}}"workload_name": "matmul_64x32x48_f32_f32_f32", "dispatches": ["{{.*}}matmul_64x32x48_f32"], "calls": 2.0
// LINES: {"row": "profile", "format": 1, {{.*}}"functions": ["main"], "method": "hal", "whole_us": {{[0-9.]+}}, {{.*}}"dispatches_us": {{[0-9.]+}}, "explained_us": {{[0-9.]+}}, "rest_us": {{[-0-9.]+}}, "roofline": null
// NONE-NOT: initializer
// TABLE: share {{ *}}calls {{ *}}time us
// TABLE: {{[0-9.]+}}% {{.*}}matmul_64x32x48_f32
// TABLE: main on local-task, measured with the runtime's profiler
// TABLE: program {{.*}} us per invocation, the quietest quarter of samples
// TABLE: usually {{.*}} us, the middle half of samples
// TABLE: dispatches {{.*}} us, {{.*}}%
// TABLE: unexplained {{ *}}{{[-+]}}{{[0-9.]+}} us, {{.*}}%
// FILE: "method": "hal"

util.global private @weights : tensor<48x32xf32>
util.initializer {
  %seed = util.unfoldable_constant dense<0.5> : tensor<48x32xf32>
  %empty = tensor.empty() : tensor<48x32xf32>
  %root = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%seed : tensor<48x32xf32>) outs(%empty : tensor<48x32xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.exp %x : f32
      linalg.yield %y : f32
  } -> tensor<48x32xf32>
  util.global.store %root, @weights : tensor<48x32xf32>
  util.return
}

func.func @main(%a: tensor<64x48xf32>, %b: tensor<64x48xf32>, %c: tensor<16x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  %w = util.global.load @weights : tensor<48x32xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %p = linalg.matmul ins(%a, %w : tensor<64x48xf32>, tensor<48x32xf32>) outs(%init : tensor<64x32xf32>) -> tensor<64x32xf32>
  %q = linalg.matmul ins(%b, %w : tensor<64x48xf32>, tensor<48x32xf32>) outs(%init : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = tensor.insert_slice %c into %init[16, 0] [16, 32] [1, 1] : tensor<16x32xf32> into tensor<64x32xf32>
  return %p, %q, %r : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}
