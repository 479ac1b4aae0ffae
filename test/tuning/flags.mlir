// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 1 --strategy shuffle --no-profile --try-flags --no-db --json -o %t.spec.mlir | FileCheck %s --check-prefix=TRIED
// RUN: not %iree_tuner tune %s --chip host+fast --no-db -o %t.spec.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %iree_tuner compile %s --spec %t.none.mlir -o %t.vmfb 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %iree_tuner compile %s -o %t.txt 2>&1 | FileCheck %s --check-prefix=NAME

// TRIED: "program": "{{.*}}flags.mlir"
// TRIED-SAME: "steps": [{"what": "data-tiling", "against": "default flags"
// TRIED-SAME: "what": "im2col"
// UNKNOWN: error: llvm-cpu has no option 'fast' (one of: +data-tiling
// MISSING: error: {{.*}}none.mlir: no such file
// NAME: error: {{.*}}the name must end in .vmfb

func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>) outs(%init : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
