// The main job on one small matmul: trials are kept, the spec verifies, and it says how to use it.
// RUN: rm -f %t.db
// RUN: %iree_tuner tune %s --effort smoke --candidates 2 --db %t.db --json -o %t.spec.mlir 2> %t.err | FileCheck %s --check-prefix=JSON
// RUN: FileCheck %s --check-prefix=PEOPLE < %t.err
// RUN: %iree_tuner db show matmul_96x64x128_f32_f32_f32 --db %t.db --limit 1 --json | FileCheck %s --check-prefix=TRIAL
// A second run with the same seed goes through the same trials, and takes no time for them.
// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 2 --db %t.db -o %t.spec.mlir 2> %t.again
// RUN: FileCheck %s --check-prefix=PEOPLE < %t.again
// RUN: %iree_tuner db list --db %t.db --json | FileCheck %s --check-prefix=LIST
// RUN: %iree_opt %t.spec.mlir -o /dev/null
// RUN: %iree_tuner spec check %t.spec.mlir

// JSON: {"workload": "matmul_96x64x128_f32_f32_f32"{{.*}}"outcomes": {
// JSON-NEXT: {"program": "{{.*}}quick.mlir", "target": "llvm-cpu:host"
// JSON-NOT: {{^[{]}}
// PEOPLE: 1 dispatch, 1 workload to tune
// PEOPLE: matmul_96x64x128_f32_f32_f32{{(: [0-9]+ tried)|( +100.0% +[0-9]+)}}
// TRIAL: "assignment": {{[{].*[}]}}, "outcome": "{{ok|too_slow}}"
// LIST: matmul_96x64x128_f32_f32_f32
// LIST-NOT: "study": 2

func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>) outs(%init : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
