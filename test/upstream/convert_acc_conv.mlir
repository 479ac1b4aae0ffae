#config = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 4], subgroup = [1, 1, 1, 2, 0, 0, 0], workgroup = [1, 1, 16, 16, 0, 0, 0]}>, translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>>
func.func @main(%a: tensor<2x18x18x64xf16>, %b: tensor<3x3x64x16xf16>, %f: tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {compilation_info = #config, dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%a, %b : tensor<2x18x18x64xf16>, tensor<3x3x64x16xf16>) outs(%f : tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32>
  return %r : tensor<2x16x16x16xf32>
}
