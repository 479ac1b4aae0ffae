#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
#map6 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map7 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map8 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map10 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map11 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <Transpose>>, iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <None>>}>
#translation4 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <None>>, iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>
#translation5 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <Transpose>>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 64, 0, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 4], subgroup = [1, 2, 2, 10, 0, 0, 0], workgroup = [1, 4, 32, 320, 0, 0, 0]}>, translation_info = #translation1>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 4], subgroup = [1, 4, 1, 10, 0, 0, 0], workgroup = [2, 4, 32, 80, 0, 0, 0]}>, translation_info = #translation2>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 4], subgroup = [1, 2, 2, 10, 0, 0, 0], workgroup = [1, 4, 64, 160, 0, 0, 0]}>, translation_info = #translation1>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 160, 0]}>, translation_info = #translation3>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[4, 1, 1], [0, 1, 2]], workgroup = [256, 80, 0]}>, translation_info = #translation3>
#compilation6 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 64, 0, 0]}>, translation_info = #translation4>
#compilation7 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 160, 0]}>, translation_info = #translation5>
module @linked_tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_config_to_1_ops(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}, %arg2: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.annotate %arg0 "decomposition_config" = %arg2 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_attention_20x4096x64x64x4096_f16_f16_f16_f16_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 1188.3897777806851 : f64, device = "cuda://0", dispatch = "wide_attention_dispatch_0_attention_20x4096x64x64x4096", interval = array<f64: 1.6926487395875458, 1.6994496800697207>, loops = array<i64: 20, 4096, 64, 64, 4096>, op = "attention", samples = 44 : i64, speedup = 1.696045800962483 : f64, tuned_us = 700.2772333369951 : f64, workload = "92e86c422f4ab4be"}} {
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [20] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_conv_2x128x128x320x3x3x320_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 861.93374999273442 : f64, device = "cuda://0", dispatch = "conv_128x128x320_dispatch_0_conv_2x128x128x320x3x3x320_f16xf16xf32", interval = array<f64: 2.8572185310399751, 2.8728117540615092>, loops = array<i64: 2, 128, 128, 320, 3, 3, 320>, op = "conv", samples = 64 : i64, speedup = 2.8650045340093269 : f64, tuned_us = 300.94944117355658 : f64, workload = "d2139fcd32460ecb"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [128, 128] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [320] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [320] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_2x32x32x1280x3x3x1280_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 774.23921429239522 : f64, device = "cuda://0", dispatch = "conv_32x32x1280_dispatch_0_conv_2x32x32x1280x3x3x1280_f16xf16xf32", interval = array<f64: 1.6336569536539043, 1.6380150782627982>, loops = array<i64: 2, 32, 32, 1280, 3, 3, 1280>, op = "conv", samples = 45 : i64, speedup = 1.6358345646164727 : f64, tuned_us = 474.39827272910406 : f64, workload = "7de4e2cb43c5d1e2"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [32, 32] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_2x64x64x640x3x3x640_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 778.70917857580935 : f64, device = "cuda://0", dispatch = "conv_64x64x640_dispatch_0_conv_2x64x64x640x3x3x640_f16xf16xf32", interval = array<f64: 2.1956721362314133, 2.2095130360083695>, loops = array<i64: 2, 64, 64, 640, 3, 3, 640>, op = "conv", samples = 48 : i64, speedup = 2.2025817142171258 : f64, tuned_us = 353.83496552005204 : f64, workload = "660de61125587afa"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [64, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_8192x5120x640_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 400.67653846493232 : f64, device = "cuda://0", dispatch = "wide_gated_dispatch_0_matmul_8192x5120x640_f16xf16xf32", interval = array<f64: 1.7543495459741927, 1.7575417220516032>, loops = array<i64: 8192, 5120, 640>, op = "matmul", samples = 51 : i64, speedup = 1.7559449086209769 : f64, tuned_us = 228.35328888959339 : f64, workload = "bfac4f4ad8b3c9a5"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8192] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [5120] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [640] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_2048x10240x1280_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 407.3939038453143 : f64, device = "cuda://0", dispatch = "deep_gated_dispatch_0_matmul_2048x10240x1280_f16xf16xf32", interval = array<f64: 1.9189674627666471, 1.9396110730016176>, loops = array<i64: 2048, 10240, 1280>, op = "matmul", samples = 44 : i64, speedup = 1.9292616565702041 : f64, tuned_us = 211.29151999957685 : f64, workload = "18364067abeed571"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [10240] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1280] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_2048x1280x5120_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 270.00197368471692 : f64, device = "cuda://0", dispatch = "deep_out_dispatch_0_matmul_2048x1280x5120_f16xf16xf32", interval = array<f64: 1.7920912026458766, 1.7986272140729493>, loops = array<i64: 2048, 1280, 5120>, op = "matmul", samples = 53 : i64, speedup = 1.7953562340604146 : f64, tuned_us = 150.33772463842374 : f64, workload = "4fc53b478f8704af"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [5120] : !transform.param<i64>
    %0 = transform.param.constant #compilation5 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_8192x640x2560_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 229.05143478006403 : f64, device = "cuda://0", dispatch = "wide_out_dispatch_0_matmul_8192x640x2560_f16xf16xf32", interval = array<f64: 2.2224015151768177, 2.2330000554615661>, loops = array<i64: 8192, 640, 2560>, op = "matmul", samples = 54 : i64, speedup = 2.2276944823399152 : f64, tuned_us = 102.92106862701021 : f64, workload = "b7acb36b9a6daa8c"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8192] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2560] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_40x1024x64x64x1024_f16_f16_f16_f16_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 162.80882812580444 : f64, device = "cuda://0", dispatch = "deep_attention_dispatch_0_attention_40x1024x64x64x1024", interval = array<f64: 1.5401661337842885, 1.5439938419275177>, loops = array<i64: 40, 1024, 64, 64, 1024>, op = "attention", samples = 55 : i64, speedup = 1.5420788002265819 : f64, tuned_us = 105.65261224507353 : f64, workload = "52d5925132ae86fd"}} {
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [40] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation6 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_matmul_8192x640x640_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 62.300627218829483 : f64, device = "cuda://3", dispatch = "wide_proj_dispatch_0_matmul_8192x640x640_f16xf16xf32", interval = array<f64: 1.8524965715429902, 1.8636578026109891>, loops = array<i64: 8192, 640, 640>, op = "matmul", samples = 45 : i64, speedup = 1.858068806547863 : f64, tuned_us = 33.426572784783289 : f64, workload = "0c0587b3e40e4449"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8192] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [640] : !transform.param<i64>
    %0 = transform.param.constant #compilation7 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_2048x1280x1280_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 62.61876506017876 : f64, device = "cuda://3", dispatch = "deep_proj_dispatch_0_matmul_2048x1280x1280_f16xf16xf32", interval = array<f64: 1.4608198050625036, 1.4662981485223718>, loops = array<i64: 2048, 1280, 1280>, op = "matmul", samples = 57 : i64, speedup = 1.4635564134969179 : f64, tuned_us = 42.782983471012777 : f64, workload = "257393820c7dacaa"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1280] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_attention_20x4096x64x64x4096_f16_f16_f16_f16_f32_f32_f32 -> @apply_config_to_1_ops, 
        @match_conv_2x128x128x320x3x3x320_f16_f16_f32 -> @apply_op_config, 
        @match_conv_2x32x32x1280x3x3x1280_f16_f16_f32 -> @apply_op_config, 
        @match_conv_2x64x64x640x3x3x640_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_8192x5120x640_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_2048x10240x1280_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_2048x1280x5120_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_8192x640x2560_f16_f16_f32 -> @apply_op_config, 
        @match_attention_40x1024x64x64x1024_f16_f16_f16_f16_f32_f32_f32 -> @apply_config_to_1_ops, 
        @match_matmul_8192x640x640_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_2048x1280x1280_f16_f16_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
