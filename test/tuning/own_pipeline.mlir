// Flags of a user's own that change what the dispatches are: every command sees the same ones, and a spec reaches
// them without being told the flags again. own_flags.mlir has the trials of several flags.
// RUN: rm -rf %t && mkdir %t
// RUN: echo '--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-preprocessing-pad-linalg-ops{pad-size=64}))' > %t/padded
// RUN: echo '--iree-opt-level=O3' > %t/o3
// RUN: %iree_tuner extract %s | FileCheck %s --check-prefix=PLAIN
// RUN: %iree_tuner extract %s --flags-file %t/padded | FileCheck %s --check-prefix=PADDED
// RUN: %iree_tuner extract %s --flags-file %t/o3 | FileCheck %s --check-prefix=O3
// RUN: %iree_tuner space %s --flags-file %t/padded | FileCheck %s --check-prefix=SPACE
// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 2 --keep-flags --no-profile --flags-file %t/padded --db %t/t.db --json -o %t/padded.mlir 2>/dev/null | FileCheck %s --check-prefix=TUNED
// RUN: %iree_tuner db list --db %t/t.db --json 2>/dev/null | FileCheck %s --check-prefix=STUDIES
// A spec of a padded product, whoever won above.
// RUN: %iree_tuner spec build %S/Inputs/padded.jsonl -o %t/spec.mlir
// RUN: not %iree_tuner spec check %t/spec.mlir --program %s | FileCheck %s --check-prefix=MISSES
// RUN: %iree_tuner spec check %t/spec.mlir --program %s --flags-file %t/padded | FileCheck %s --check-prefix=HITS
// RUN: %iree_tuner compile %s --spec %t/spec.mlir --strict --flags-file %t/padded -o %t/tuned.vmfb 2>&1 | FileCheck %s --check-prefix=COMPILED
// RUN: %iree_tuner run %s --flags-file %t/padded --json 2>/dev/null | FileCheck %s --check-prefix=RAN

// PLAIN: matmul_96x64x128_f32_f32_f32
// PADDED: matmul_128x64x128_f32_f32_f32
// O3: mm_dispatch_0_matmul_like
// SPACE: matmul_128x64x128_f32_f32_f32
// TUNED: "trials": 2
// STUDIES: matmul_128x64x128
// MISSES: hits none
// HITS: hits one: mm_dispatch_0
// COMPILED: 1 of 1 matchers hit
// RAN: "shape": [96, 64]

func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>) outs(%init : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
