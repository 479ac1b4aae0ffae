// A matmul whose m is known only at run time is tuned at the first size given; the spec is for every size.
// RUN: %iree_tuner tune --jobs 1 %s --no-db --dim 40,9 --effort smoke --candidates 1 --strategy shuffle --keep-flags --no-profile --json -o %t.spec.mlir 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=PEOPLE < %t.err
// RUN: %iree_opt %t.spec.mlir -o /dev/null
// RUN: %iree_compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-codegen-tuning-spec-path=%t.spec.mlir -o /dev/null

// CHECK: {"workload": "matmul_Dx64x128_f32_f32_f32"{{.*}}"trials": {{[1-9][0-9]*}}, "outcomes": {
// CHECK: "sizes": [
// PEOPLE: 1 dispatch, 1 workload to tune
// PEOPLE: matmul_Dx64x128_f32_f32_f32: {{[0-9]+}} tried

func.func @mm(%a: tensor<?x128xf32>, %b: tensor<128x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x128xf32>
  %empty = tensor.empty(%m) : tensor<?x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x128xf32>, tensor<128x64xf32>) outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}
