// What there are no constraints for is not checked, which is no failure: a pipeline, an entry of a config, an op.
// RUN: %iree_tuner verify %s --target llvm-cpu:znver4 2>%t.summary | FileCheck %s
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.summary
// RUN: %iree_tuner verify %s --target llvm-cpu:znver4 --json | FileCheck %s --check-prefix=JSON
// RUN: %iree_tuner verify %s --target llvm-cpu:znver4 --diagnostics | FileCheck %s --check-prefix=REMARK
// RUN: not %iree_tuner verify %s --target llvm-cpu:znver4 --strict

// CHECK: linalg.matmul (matmul_256x512x128_f32_f32_f32): not checked
// CHECK-NEXT: its pipeline is BufferOpsTileAndVectorize, but constraints are known only for DoubleTilingExpert
// CHECK: linalg.matmul (matmul_256x512x64_f32_f32_f32): not checked
// CHECK-NEXT: vector_inner_parallel[0] is 8, but is always 0 in this space

// SUMMARY: 2 configurations: 0 legal, 2 not checked

// JSON: {"severity": "unchecked", "message": "its pipeline is BufferOps
// REMARK: {{.*}}unchecked.mlir:{{[0-9]+}}:8: remark: 'linalg.matmul' op not checked: its pipeline is BufferOps

#other = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<BufferOpsTileAndVectorize>>
#double = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#pipeline = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]>, translation_info = #other>
#level = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4], vector_inner_parallel = [8, 0, 0]>, translation_info = #double>

func.func @pipeline(%a: tensor<256x128xf32>, %b: tensor<128x512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #pipeline} ins(%a, %b : tensor<256x128xf32>, tensor<128x512xf32>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @level(%a: tensor<256x64xf32>, %b: tensor<64x512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #level} ins(%a, %b : tensor<256x64xf32>, tensor<64x512xf32>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}
