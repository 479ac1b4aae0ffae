// Violations by kind, on CUDA: tiles that do not divide, shared memory, threads.
// RUN: not %iree_tuner verify %s --target cuda:sm_80 | FileCheck %s
// RUN: not %iree_tuner verify %s --target cuda:sm_80 --diagnostics | FileCheck %s --check-prefix=DIAGNOSTICS

// CHECK: linalg.matmul (matmul_256x512x128_f16_f16_f32, TileAndFuse): legal
// CHECK: linalg.matmul (matmul_256x512x256_f16_f16_f32, TileAndFuse): 1 error, 1 warning
// CHECK-NEXT: error: workgroup[1] (96) must divide dim_1 (512), or cover it
// CHECK-NEXT: warning: workgroup_size[0] == total_threads (128 against 192{{.*}}, workgroup_size[0] = 128)
// CHECK: linalg.matmul (matmul_256x512x512_f16_f16_f32, TileAndFuse): 1 error
// CHECK-NEXT: error: the operands take 262,144 of 166912 bytes of shared memory
// CHECK: linalg.matmul (matmul_256x512x384_f16_f16_f32, TileAndFuse): 1 warning
// CHECK-NEXT: warning: workgroup_size[0] == total_threads (256 against 128{{.*}}, workgroup_size[0] = 256)

// DIAGNOSTICS: {{.*}}gpu.mlir:{{[0-9]+}}:8: error: 'linalg.matmul' op workgroup[1] (96) must divide dim_1 (512), or cover it

#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>
#four = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
#eight = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
#legal_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>
#odd_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 4, 0], workgroup = [64, 96, 0]}>
#large_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 16], subgroup = [8, 8, 0], workgroup = [256, 256, 0]}>
#legal = #iree_codegen.compilation_info<lowering_config = #legal_config, translation_info = #four>
#odd = #iree_codegen.compilation_info<lowering_config = #odd_config, translation_info = #four>
#large = #iree_codegen.compilation_info<lowering_config = #large_config, translation_info = #eight>
#idle = #iree_codegen.compilation_info<lowering_config = #legal_config, translation_info = #eight>

func.func @legal(%a: tensor<256x128xf16>, %b: tensor<128x512xf16>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #legal} ins(%a, %b : tensor<256x128xf16>, tensor<128x512xf16>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @odd(%a: tensor<256x256xf16>, %b: tensor<256x512xf16>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #odd} ins(%a, %b : tensor<256x256xf16>, tensor<256x512xf16>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @large(%a: tensor<256x512xf16>, %b: tensor<512x512xf16>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #large} ins(%a, %b : tensor<256x512xf16>, tensor<512x512xf16>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

func.func @idle(%a: tensor<256x384xf16>, %b: tensor<384x512xf16>) -> tensor<256x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x512xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x512xf32>) -> tensor<256x512xf32>
  %0 = linalg.matmul {compilation_info = #idle} ins(%a, %b : tensor<256x384xf16>, tensor<384x512xf16>)
    outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}
