// Crashes: docs/upstream/prefetch_uneven_copy.md
#config = #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1],
        reduction = [0, 0, 1], subgroup = [1, 1, 0], workgroup = [16, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {
        gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3>}>>

func.func @main(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = linalg.matmul {compilation_info = #config}
      ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
