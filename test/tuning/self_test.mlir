// The default against itself: an empty spec that verifies, status 0, and it says so.
// RUN: rm -f %t.mlir
// RUN: %iree_tuner tune --jobs 1 %S/quick.mlir --effort smoke --candidates 1 --strategy shuffle --no-db --self-test --keep-flags --no-profile --json -o %t.mlir 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=PEOPLE < %t.err
// RUN: %iree_opt %t.mlir | FileCheck %s --check-prefix=SPEC
// RUN: %iree_compile %S/quick.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-codegen-tuning-spec-path=%t.mlir -o /dev/null

// The note and the verdict say what was measured: on a busy machine that this one is too noisy.
// CHECK: "note": "the baseline {{compared with itself.*"verdict": "tie"|differs from itself.*"verdict": "(win|lose)"}}
// CHECK: "wins": 0,{{.*}}"note": "the program was not compared: no candidate beats the compiler's default"{{.*}}"verdict": null, "speedup": null, "interval": null
// PEOPLE: RESULT: self-test: a tie in {{[01]}} of 1 workload
// PEOPLE: {{.*}} is an empty spec
// SPEC: transform.named_sequence @__kernel_config
// SPEC-NOT: foreach_match
