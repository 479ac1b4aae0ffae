// Configurations that a person wrote onto ops: one legal, one that the compiler refuses, one that it only should.
// RUN: not %iree_tuner verify %s --target llvm-cpu:znver4 2>%t.summary | FileCheck %s
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.summary
// RUN: not %iree_tuner verify %s --target llvm-cpu:znver4 --diagnostics | FileCheck %s --check-prefix=DIAGNOSTICS
// RUN: not %iree_tuner verify %s --target llvm-cpu:znver4 --json | FileCheck %s --check-prefix=JSON
// RUN: not %iree_tuner verify - --target llvm-cpu:znver4 < %s | FileCheck %s --check-prefix=STANDARD
// RUN: not %iree_tuner verify %s --program %s 2>&1 | FileCheck %s --check-prefix=MISTAKE

// CHECK: {{.*}}user.mlir:42:8: linalg.matmul (matmul_256x512x128_f32_f32_f32, DoubleTilingExpert): legal
// CHECK-NEXT: {{.*}}user.mlir:51:8: linalg.matmul (matmul_256x512x64_f32_f32_f32, DoubleTilingExpert): 1 error, 1 warning
// CHECK-NEXT: error: the vector contraction: 65,536 bytes must stay below 32768 (large vector check)
// CHECK-NEXT: warning: a tile of 1,024 vector multiplications compiles for too long: at most 512 are unrolled
// CHECK-NEXT: {{.*}}user.mlir:60:8: linalg.matmul (matmul_256x512x32_f32_f32_f32, DoubleTilingExpert): 1 warning
// CHECK-NEXT: warning: vector_common_parallel[0] (64) must not exceed distribution[0] (16)

// SUMMARY: 3 configurations: 1 legal, 1 with errors, 1 with warnings

// DIAGNOSTICS: {{.*}}user.mlir:{{[0-9]+}}:8: error: 'linalg.matmul' op the vector contraction: 65,536 bytes must stay below 32768
// DIAGNOSTICS: {{.*}}user.mlir:{{[0-9]+}}:8: warning: 'linalg.matmul' op vector_common_parallel[0] (64) must not exceed

// JSON: {"severity": "error", "message": "the vector contraction: 65,536 bytes
// JSON-SAME: "rule": "the vector contraction: {} bytes
// JSON-SAME: "op": "linalg.matmul", "matcher": null
// JSON-SAME: "space": "DoubleTilingExpert", "lowering_config": "#iree_cpu.lowering_config<distribution = [64, 64, 0]
// JSON-NEXT: {"severity": "warning", "message": "a tile of
// JSON-NEXT: {"severity": "warning", "message": "vector_common_parallel[0] (64) must not exceed distribution[0] (16)"
// JSON-NOT: severity

// STANDARD: <stdin>:{{[0-9]+}}:8: linalg.matmul

// MISTAKE: error: --program requires a spec, but the input is a program

#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#legal = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [48, 96, 0], vector_common_parallel = [6, 16, 0], vector_reduction = [0, 0, 5]>, translation_info = #translation>
#large = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 64]>, translation_info = #translation>
#wide = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [16, 64, 0], vector_common_parallel = [64, 16, 0], vector_reduction = [0, 0, 4]>, translation_info = #translation>

func.func @legal(%a: tensor<256x128xf32>, %b: tensor<128x512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #legal} ins(%a, %b : tensor<256x128xf32>, tensor<128x512xf32>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @large(%a: tensor<256x64xf32>, %b: tensor<64x512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #large} ins(%a, %b : tensor<256x64xf32>, tensor<64x512xf32>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @wide(%a: tensor<256x32xf32>, %b: tensor<32x512xf32>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #wide} ins(%a, %b : tensor<256x32xf32>, tensor<32x512xf32>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}
