// A real budget, on a real clock: the run ends, and says what it found. Everything that follows from time is tested with
// simulated clocks (test/unit/tuning).
// REQUIRES: exhaustive
// RUN: %iree_tuner tune --jobs 1 %S/quick.mlir --effort quick --budget 20s --no-db --json -o %t.spec.mlir | FileCheck %s
// RUN: %iree_tuner spec check %t.spec.mlir

// CHECK: {"workload": "matmul_96x64x128_f32_f32_f32"{{.*}}"trials": {{[1-9][0-9]*}}
// CHECK: {"program": "{{.*}}quick.mlir", {{.*}}"verdict": "{{win|tie|lose}}"
