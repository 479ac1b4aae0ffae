// With --keep-flags none are tried.
// REQUIRES: exhaustive
// RUN: %iree_tuner tune --jobs 1 %S/flags.mlir --effort smoke --keep-flags --no-db --json -o %t.spec.mlir | FileCheck %s --check-prefix=KEPT
// KEPT: "target": "llvm-cpu:host", {{.*}}"flags": []
// KEPT-NOT: data-tiling
