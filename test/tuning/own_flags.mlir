// A user's own compiler flags decide what the dispatches are, in every command; the spec names them, and trials are kept
// for them alone. Values of knobs and a pipeline restrict what is searched.
// RUN: rm -rf %t && mkdir %t
// RUN: %iree_tuner extract %s | FileCheck %s --check-prefix=PLAIN
// RUN: printf '# as we deploy it\n--iree-opt-data-tiling\n' > %t/flags
// RUN: %iree_tuner extract %s --flags-file %t/flags | FileCheck %s --check-prefix=TILED
// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 2 --keep-flags --no-profile --compiler-flag=--iree-opt-level=O2 --pipeline DoubleTilingExpert --knob vector_2=2,4 --db %t/t.db --json -o %t/o2.spec.mlir 2>/dev/null | FileCheck %s --check-prefix=TUNED
// RUN: %iree_tuner compile %s --spec %t/o2.spec.mlir -o %t/o2.vmfb --json 2>/dev/null | FileCheck %s --check-prefix=COMPILED
// RUN: %iree_tuner tune --jobs 1 %s --effort smoke --candidates 2 --keep-flags --no-profile --db %t/t.db -o %t/plain.spec.mlir 2>/dev/null
// RUN: %iree_tuner db list --db %t/t.db --json 2>/dev/null | FileCheck %s --check-prefix=STUDIES
// RUN: not %iree_tuner extract %s --compiler-flag=--no-such-flag 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %iree_tuner compile %s --compiler-flag=O3 -o %t/x.vmfb 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %iree_tuner run %s --compiler-flag=--iree-hal-target-device=cuda 2>&1 | FileCheck %s --check-prefix=DECIDED
// RUN: not %iree_tuner profile %s --flags-file %t/no 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not %iree_tuner tune %s --knob vector_2 --no-db 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not %iree_tuner tune %s --effort smoke --keep-flags --no-profile --pipeline Mmt4dTilingExpert --no-db 2>&1 | FileCheck %s --check-prefix=PIPELINE

// PLAIN-NOT: encode
// TILED: encode
// TUNED: "trials": 2
// TUNED: "program": "{{.*}}own_flags.mlir"
// COMPILED: "--iree-opt-level=O2"
// STUDIES-COUNT-2: "workload":
// UNKNOWN: error: the compiler rejects these flags: {{.*}}no-such-flag
// NONE: error: 'O3' is not a compiler flag (write it as --name or --name=value)
// DECIDED: error: --iree-hal-target-device=cuda is set by iree-tuner (pass --target, or --device and --chip)
// FILE: error: {{.*}}no: no such file
// VALUES: error: 'vector_2' does not set values of a knob (write th_k=4 or wg_0=64,128)
// PIPELINE: error: not judged: no space of the pipeline Mmt4dTilingExpert, only of DoubleTilingExpert

func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>) outs(%init : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
