// A user's own compiler flags decide what the dispatches are, in every command; the spec names them, and reaches these
// dispatches without being told the flags again. Trials are kept for the flags alone. Values of knobs and a pipeline
// restrict what is searched.
// RUN: rm -rf %t && mkdir %t
// RUN: echo '--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-preprocessing-pad-linalg-ops{pad-size=64}))' > %t/padded
// RUN: printf '# as we deploy it\n--iree-opt-data-tiling\n' > %t/tiled
// RUN: %iree_tuner extract %s --flags-file %t/tiled | FileCheck %s --check-prefix=TILED
// RUN: %iree_tuner space %s --flags-file %t/padded | FileCheck %s --check-prefix=SPACE
// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 1 --strategy shuffle --keep-flags --no-profile --flags-file %t/padded --compiler-flag=--iree-opt-level=O1 --pipeline DoubleTilingExpert --knob vector_2=2,4 --db %t/t.db --json -o %t/o1.spec.mlir | FileCheck %s --check-prefix=TUNED
// RUN: %iree_tuner compile %s --spec %t/o1.spec.mlir -o %t/o1.vmfb --json | FileCheck %s --check-prefix=COMPILED
// RUN: %iree_tuner db list --db %t/t.db --json | FileCheck %s --check-prefix=STUDIES

// A spec of a padded product, whoever won above.
// RUN: %iree_tuner spec build %S/Inputs/padded.jsonl -o %t/spec.mlir
// RUN: not %iree_tuner spec check %t/spec.mlir --program %s | FileCheck %s --check-prefix=MISSES
// RUN: %iree_tuner spec check %t/spec.mlir --program %s --flags-file %t/padded | FileCheck %s --check-prefix=HITS
// RUN: %iree_tuner compile %s --spec %t/spec.mlir --strict --flags-file %t/padded -o %t/tuned.vmfb 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: %iree_tuner run %s --flags-file %t/padded --json | FileCheck %s --check-prefix=RAN

// RUN: not %iree_tuner extract %s --compiler-flag=--no-such-flag 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %iree_tuner compile %s --compiler-flag=O3 -o %t/x.vmfb 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %iree_tuner run %s --compiler-flag=--iree-hal-target-device=cuda 2>&1 | FileCheck %s --check-prefix=DECIDED
// RUN: not %iree_tuner profile %s --flags-file %t/no 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not %iree_tuner tune %s --knob vector_2 --no-db 2>&1 | FileCheck %s --check-prefix=VALUES

// TILED: encode
// SPACE: matmul_128x64x128_f32_f32_f32
// TUNED: "workload": "matmul_128x64x128_f32_f32_f32"
// TUNED-SAME: "trials": 1
// TUNED: "program": "{{.*}}own_flags.mlir"
// COMPILED: "--iree-opt-level=O1"
// STUDIES: "workload": "matmul_128x64x128_f32_f32_f32"
// MISSES: matches none
// HITS: matches one: mm_dispatch_0
// STRICT: 1 of 1 matchers hit
// RAN: "shape": [96, 64]
// UNKNOWN: error: the compiler rejects these flags: {{.*}}no-such-flag
// NONE: error: 'O3' is not a compiler flag (write it as --name or --name=value)
// DECIDED: error: --iree-hal-target-device=cuda is set by iree-tuner (pass --target, or --device and --chip)
// FILE: error: {{.*}}no: no such file
// VALUES: error: 'vector_2' does not set values of a knob (write th_k=4 or wg_0=64,128)

func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>) outs(%init : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
