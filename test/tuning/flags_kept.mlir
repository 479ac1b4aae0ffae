// With --keep-flags none are tried, nor beside a chip's own (test/unit/tuning/test_flags.py says so, too); a spec with
// flags compiles (so does that of own_flags.mlir).
// REQUIRES: exhaustive
// RUN: %iree_tuner tune --jobs 1 %S/flags.mlir --effort smoke --keep-flags --no-db --json -o %t.spec.mlir | FileCheck %s --check-prefix=KEPT
// RUN: %iree_tuner tune --jobs 1 %S/flags.mlir --effort smoke --candidates 1 --try-flags --no-db --json -o %t.tried.mlir
// RUN: %iree_tuner compile %S/flags.mlir --spec %t.tried.mlir -o %t.vmfb --json | FileCheck %s --check-prefix=COMPILED
// COMPILED: "flags": ["--iree-hal-target-device=local"
// RUN: %iree_tuner tune --jobs 1 %S/flags.mlir --effort smoke --candidates 1 --strategy shuffle --no-profile --try-flags --chip host+im2col --no-db --json -o %t.spec.mlir | FileCheck %s --check-prefix=GIVEN
// GIVEN: "target": "llvm-cpu:host+im2col", {{.*}}"flags": []
// GIVEN-NOT: data-tiling
// KEPT: "target": "llvm-cpu:host", {{.*}}"flags": []
// KEPT-NOT: data-tiling
