#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <Transpose>>, iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [96, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [1, 3, 0], workgroup = [48, 48, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 12], subgroup = [3, 6, 0], workgroup = [96, 96, 0]}>, translation_info = #translation1>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 64, 0, 0]}>, translation_info = #translation2>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 24], subgroup = [2, 3, 0], workgroup = [96, 24, 0]}>, translation_info = #translation3>
module @tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_matmul_384x768x3072_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 64.044422839024151 : f64, device = "cuda://0", dispatch = "out_dispatch_0_matmul_384x768x3072_f16xf16xf32", interval = array<f64: 2.0115920601384985, 2.0128162607555393>, loops = array<i64: 384, 768, 3072>, op = "matmul", samples = 64 : i64, speedup = 2.0122040673484149 : f64, tuned_us = 31.84537613282609 : f64, workload = "a01c5ad4157b1d8a"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_384x3072x768_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 25.475315789769617 : f64, device = "cuda://0", dispatch = "hidden_dispatch_0_matmul_384x3072x768_f16xf16xf32", interval = array<f64: 1.3485645690720491, 1.3559083513957053>, loops = array<i64: 384, 3072, 768>, op = "matmul", samples = 50 : i64, speedup = 1.352231474859664 : f64, tuned_us = 18.853158407327367 : f64, workload = "16301b8974d6fe72"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @apply_config_to_1_ops(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}, %arg2: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.annotate %arg0 "decomposition_config" = %arg2 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_attention_12x384x64x64x384_f16_f16_f16_f16_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 20.796031620250908 : f64, device = "cuda://0", dispatch = "attention_dispatch_0_attention_12x384x64x64x384", interval = array<f64: 1.2252128844003471, 1.2310150698786015>, loops = array<i64: 12, 384, 64, 64, 384>, op = "attention", samples = 53 : i64, speedup = 1.2281105506045684 : f64, tuned_us = 16.948116504734212 : f64, workload = "21dc09feb8abee5b"}} {
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map3, #map4, #map5, #map6, #map7, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [12] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_matmul_384x768x768_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 18.435420494420004 : f64, device = "cuda://0", dispatch = "proj_dispatch_0_matmul_384x768x768_f16xf16xf32", interval = array<f64: 1.4922343797847291, 1.498219332267031>, loops = array<i64: 384, 768, 768>, op = "matmul", samples = 55 : i64, speedup = 1.4952238615227433 : f64, tuned_us = 12.308977218106637 : f64, workload = "bf6eb591cb1248ed"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_matmul_384x768x3072_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_384x3072x768_f16_f16_f32 -> @apply_op_config, 
        @match_attention_12x384x64x64x384_f16_f16_f16_f16_f32_f32_f32 -> @apply_config_to_1_ops, 
        @match_matmul_384x768x768_f16_f16_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
