// Of own_flags.mlir: without flags, and with others; trials of other flags are not used again, which the key of a study
// says (test/unit/store). A pipeline that no space has: its message is tested in test/unit/space/test_restriction.py.
// REQUIRES: exhaustive
// RUN: rm -rf %t && mkdir %t
// RUN: echo '--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-preprocessing-pad-linalg-ops{pad-size=64}))' > %t/padded
// RUN: echo '--iree-opt-level=O3' > %t/o3
// RUN: %iree_tuner extract %S/own_flags.mlir | FileCheck %s --check-prefix=PLAIN
// RUN: %iree_tuner extract %S/own_flags.mlir --flags-file %t/padded | FileCheck %s --check-prefix=PADDED
// RUN: %iree_tuner extract %S/own_flags.mlir --flags-file %t/o3 | FileCheck %s --check-prefix=O3
// RUN: %iree_tuner tune --jobs 1 %S/own_flags.mlir --effort smoke --candidates 1 --strategy shuffle --keep-flags --no-profile --flags-file %t/padded --compiler-flag=--iree-opt-level=O1 --db %t/t.db -o %t/o1.mlir
// RUN: %iree_tuner tune --jobs 1 %S/own_flags.mlir --effort smoke --candidates 1 --strategy shuffle --keep-flags --no-profile --flags-file %t/padded --db %t/t.db --json -o %t/padded.mlir | FileCheck %s --check-prefix=AGAIN
// RUN: %iree_tuner db list --db %t/t.db --json | FileCheck %s --check-prefix=STUDIES
// RUN: not %iree_tuner tune %S/own_flags.mlir --effort smoke --keep-flags --no-profile --pipeline Mmt4dTilingExpert --no-db 2>&1 | FileCheck %s --check-prefix=PIPELINE

// PLAIN-NOT: encode
// PLAIN: matmul_96x64x128_f32_f32_f32
// PLAIN-NOT: encode
// PADDED: matmul_128x64x128_f32_f32_f32
// O3: mm_dispatch_0_matmul_like
// AGAIN: "trials": 1
// STUDIES-COUNT-2: "workload": "matmul_128x64x128_f32_f32_f32"
// PIPELINE: error: not judged: no space of the pipeline Mmt4dTilingExpert, only of DoubleTilingExpert
