// docs/upstream/cuda_padded_channels.md
#config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 1, 16, 32, 48], padding_conv = [2, 1, 16, 32, 0, 0, 48], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 3], subgroup = [2, 1, 1, 1, 0], workgroup = [2, 1, 16, 32, 0]}>
#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
#info = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
func.func @main(%a: tensor<2x16x16x64xf16>, %b: tensor<3x3x64x128xf16>) -> tensor<2x14x14x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x14x14x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x14x14x128xf32>) -> tensor<2x14x14x128xf32>
  %r = linalg.conv_2d_nhwc_hwcf {compilation_info = #info, strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%a, %b : tensor<2x16x16x64xf16>, tensor<3x3x64x128xf16>) outs(%init : tensor<2x14x14x128xf32>) -> tensor<2x14x14x128xf32>
  return %r : tensor<2x14x14x128xf32>
}
