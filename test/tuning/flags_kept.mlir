// With --keep-flags none are tried; a spec with flags compiles (so does that of own_flags.mlir).
// REQUIRES: exhaustive
// RUN: %iree_tuner tune --jobs 1 %S/flags.mlir --effort smoke --keep-flags --no-db --json -o %t.spec.mlir | FileCheck %s --check-prefix=KEPT
// RUN: %iree_tuner tune --jobs 1 %S/flags.mlir --effort smoke --candidates 1 --try-flags --no-db --json -o %t.tried.mlir
// RUN: %iree_tuner compile %S/flags.mlir --spec %t.tried.mlir -o %t.vmfb --json | FileCheck %s --check-prefix=COMPILED
// COMPILED: "flags": ["--iree-hal-target-device=local"
// KEPT: "target": "llvm-cpu:host", {{.*}}"flags": []
// KEPT-NOT: data-tiling
