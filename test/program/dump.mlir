// What the compiler has dumped of a program is a program: the same dispatches, as far as keys.
// DEFINE: %{flags} = --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic --compile-to=executable-configurations
// DEFINE: %{smoke} = --effort smoke --candidates 1 --strategy shuffle --keep-flags --no-profile --no-db
// RUN: mkdir -p %t
// RUN: %iree_tuner extract %s --target llvm-cpu:generic --json > %t/original.json
// RUN: rm -rf %t/dumped && mkdir -p %t/dumped
// RUN: %iree_compile %s %{flags} --iree-hal-dump-executable-benchmarks-to=%t/dumped --iree-hal-dump-executable-sources-to=- -o %t/ignored.mlir > %t/sources.mlir
// RUN: cat %t/dumped/*.mlir > %t/benchmarks.mlir
// RUN: %iree_tuner extract %t/benchmarks.mlir --json > %t/benchmarks.json
// RUN: diff %t/original.json %t/benchmarks.json
// RUN: %iree_tuner extract - --json < %t/sources.mlir > %t/sources.json
// RUN: diff %t/original.json %t/sources.json

// The files of a folder, one by one: it is tuned, and its spec is for the program.
// RUN: %iree_tuner tune --jobs 1 %t/dumped/module_main_dispatch_1_embedded_elf_x86_64_benchmark.mlir --chip generic %{smoke} --json -o %t/spec.mlir 2> %t/tune.txt | FileCheck %s --check-prefix=TUNED
// RUN: FileCheck %s --check-prefix=QUIET --allow-empty --input-file %t/tune.txt
// TUNED: "trials": 1, "outcomes": {{[{]"(ok|too_slow)"}}
// QUIET-NOT: dumped for

// It is run with tensors, as a program is.
// RUN: %iree_tuner run %t/dumped/module_main_dispatch_1_embedded_elf_x86_64_benchmark.mlir --input 1.0 --input 2.0 --input 5.0 | FileCheck %s --check-prefix=VALUES
// VALUES: 64x32xfloat32{{ +}}197{{ +}}197{{ }}

// Code for another chip is what was asked for, and is told; code for another kind of chip is not.
// RUN: %iree_tuner extract %t/dumped/module_main_dispatch_0_embedded_elf_x86_64_benchmark.mlir --target llvm-cpu:znver4 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: warning: the program names the target llvm-cpu:generic, but is compiled for llvm-cpu:znver4 here
// RUN: not %iree_tuner compile %t/dumped/module_main_dispatch_0_embedded_elf_x86_64_benchmark.mlir --target cuda:sm_80 -o %t/a.vmfb 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: error: the dispatch was dumped for llvm-cpu:generic, but cannot be compiled for cuda:sm_80 (pass --target llvm-cpu:generic, or a device of that kind)

// REQUIRES: host-x86_64

func.func @main(%a: tensor<64x128xf32>, %b: tensor<128x96xf32>, %c: tensor<96x32xf32>, %d: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x128xf32>, tensor<128x96xf32>) outs(%init : tensor<64x96xf32>) -> tensor<64x96xf32>
  %r = linalg.matmul ins(%m, %c : tensor<64x96xf32>, tensor<96x32xf32>) outs(%d : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}
