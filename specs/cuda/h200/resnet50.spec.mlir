#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map5 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation4 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <None>>}>
#translation5 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation6 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <None>>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [4, 1, 16, 128, 256], padding_conv = [4, 1, 16, 128, 0, 0, 256], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 16], subgroup = [1, 1, 1, 16, 0], workgroup = [4, 1, 16, 128, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [4, 1, 16, 64, 256], padding_conv = [4, 1, 16, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 16], subgroup = [2, 1, 1, 4, 0], workgroup = [4, 1, 16, 64, 0]}>, translation_info = #translation>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 8, 16, 64, 32], padding_conv = [2, 8, 16, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [2, 2, 1, 4, 0], workgroup = [2, 8, 16, 64, 0]}>, translation_info = #translation1>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 2, 16, 64, 128], padding_conv = [2, 2, 16, 64, 0, 0, 128], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 8], subgroup = [2, 1, 1, 8, 0], workgroup = [2, 2, 16, 64, 0]}>, translation_info = #translation2>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 7, 16, 64, 256], padding_conv = [1, 7, 16, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 16], subgroup = [1, 7, 1, 2, 0], workgroup = [1, 7, 16, 64, 0]}>, translation_info = #translation>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 2, 32, 128, 144], padding_conv = [2, 2, 32, 128, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 9], subgroup = [1, 2, 1, 16, 0], workgroup = [2, 2, 32, 128, 0]}>, translation_info = #translation>
#compilation6 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 2, 64, 64, 64], padding_conv = [2, 2, 64, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 4], subgroup = [2, 2, 1, 4, 0], workgroup = [2, 2, 64, 64, 0]}>, translation_info = #translation1>
#compilation7 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 2, 32, 128, 128], padding_conv = [2, 2, 32, 128, 0, 0, 128], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 8], subgroup = [2, 2, 1, 8, 0], workgroup = [2, 2, 32, 128, 0]}>, translation_info = #translation>
#compilation8 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 16], subgroup = [1, 1, 0], workgroup = [16, 64, 0]}>, translation_info = #translation3>
#compilation9 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[1, 4, 1], [0, 1, 2]], workgroup = [64, 128, 0]}>, translation_info = #translation4>
#compilation10 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[1, 4, 1], [0, 1, 2]], workgroup = [112, 128, 0]}>, translation_info = #translation4>
#compilation11 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[1, 4, 1], [0, 1, 2]], workgroup = [64, 128, 0]}>, translation_info = #translation4>
#compilation12 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 4, 0], workgroup = [128, 64, 0]}>, translation_info = #translation5>
#compilation13 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[1, 2, 1], [0, 1, 2]], workgroup = [64, 64, 0]}>, translation_info = #translation6>
#compilation14 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 4, 0], workgroup = [64, 128, 0]}>, translation_info = #translation5>
module @linked_tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_conv_16x7x7x512x3x3x512_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 161.2534076920943 : f64, device = "cuda://0", dispatch = "conv_7x7x512_dispatch_0_conv_16x7x7x512x3x3x512_f16xf16xf32", interval = array<f64: 1.3235742159661319, 1.3266351411969175>, loops = array<i64: 16, 7, 7, 512, 3, 3, 512>, op = "conv", samples = 54 : i64, speedup = 1.3251037947582931 : f64, tuned_us = 121.64302352911204 : f64, workload = "441cbae27fb00941"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x7x7x512x3x3x512_f16_f16_f32_1(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 160.08193750050026 : f64, device = "cuda://0", dispatch = "halving_7x7x512_dispatch_0_conv_16x7x7x512x3x3x512_f16xf16xf32", interval = array<f64: 1.7166589405760384, 1.7210742764045923>, loops = array<i64: 16, 7, 7, 512, 3, 3, 512>, op = "conv", samples = 64 : i64, speedup = 1.7188651907538821 : f64, tuned_us = 93.06697321446019 : f64, workload = "864b356ce16ebbbb"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [2, 2] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x112x112x64x7x7x3_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 153.75535074564317 : f64, device = "cuda://0", dispatch = "stem_7x7_dispatch_0_conv_16x112x112x64x7x7x3_f16xf16xf32", interval = array<f64: 1.9360209194330216, 1.9412107392387117>, loops = array<i64: 16, 112, 112, 64, 7, 7, 3>, op = "conv", samples = 64 : i64, speedup = 1.9386140926430371 : f64, tuned_us = 79.310729323164452 : f64, workload = "2014149a6178abd9"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [112, 112] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [3] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [2, 2] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x14x14x256x3x3x256_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 98.997097087222642 : f64, device = "cuda://0", dispatch = "conv_14x14x256_dispatch_0_conv_16x14x14x256x3x3x256_f16xf16xf32", interval = array<f64: 1.4961509734259688, 1.4992313709722673>, loops = array<i64: 16, 14, 14, 256, 3, 3, 256>, op = "conv", samples = 56 : i64, speedup = 1.4976903802424943 : f64, tuned_us = 66.160885349943925 : f64, workload = "c13877c234783d00"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x14x14x256x3x3x256_f16_f16_f32_1(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 98.985861904750323 : f64, device = "cuda://0", dispatch = "halving_14x14x256_dispatch_0_conv_16x14x14x256x3x3x256_f16xf16xf32", interval = array<f64: 1.6309959784935202, 1.6370913542227592>, loops = array<i64: 16, 14, 14, 256, 3, 3, 256>, op = "conv", samples = 56 : i64, speedup = 1.6340408242035545 : f64, tuned_us = 60.584440828712403 : f64, workload = "55128589a1bd0d6f"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [2, 2] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x28x28x128x3x3x128_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 79.04527272728501 : f64, device = "cuda://0", dispatch = "conv_28x28x128_dispatch_0_conv_16x28x28x128x3x3x128_f16xf16xf32", interval = array<f64: 1.3204444975921967, 1.326299928987301>, loops = array<i64: 16, 28, 28, 128, 3, 3, 128>, op = "conv", samples = 55 : i64, speedup = 1.3233689747716633 : f64, tuned_us = 59.738595375869927 : f64, workload = "01702a5e6913a28c"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [28, 28] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation5 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x56x56x64x3x3x64_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 82.092093750318895 : f64, device = "cuda://1", dispatch = "conv_56x56x64_dispatch_0_conv_16x56x56x64x3x3x64_f16xf16xf32", interval = array<f64: 1.5553743331571015, 1.5649838970159922>, loops = array<i64: 16, 56, 56, 64, 3, 3, 64>, op = "conv", samples = 63 : i64, speedup = 1.5601717165821365 : f64, tuned_us = 52.576398010346765 : f64, workload = "786dba444e00cbe6"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [56, 56] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [1, 1] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation6 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_16x28x28x128x3x3x128_f16_f16_f32_0(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 81.198161538290719 : f64, device = "cuda://1", dispatch = "halving_28x28x128_dispatch_0_conv_16x28x28x128x3x3x128_f16xf16xf32", interval = array<f64: 1.7292604285734676, 1.7384885395658751>, loops = array<i64: 16, 28, 28, 128, 3, 3, 128>, op = "conv", samples = 64 : i64, speedup = 1.7338683447712364 : f64, tuned_us = 46.85950881041272 : f64, workload = "be0a412d75a60791"}} {
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [28, 28] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %depth_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %strides, [2, 2] : !transform.param<i64>
    transform.iree.match.dims_equal %dilations, [1, 1] : !transform.param<i64>
    %0 = transform.param.constant #compilation7 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_784x512x2048_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 55.329570652047451 : f64, device = "cuda://1", dispatch = "narrow_7x7x512_dispatch_0_matmul_like_784x512x2048_f16xf16xf32", interval = array<f64: 1.4693579252253137, 1.4779731765098008>, loops = array<i64: 784, 512, 2048>, op = "matmul", samples = 50 : i64, speedup = 1.4736592551112713 : f64, tuned_us = 37.446764285675727 : f64, workload = "e94f280be082dc77"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [784] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation8 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_3136x256x1024_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 31.286060240939928 : f64, device = "cuda://1", dispatch = "narrow_14x14x256_dispatch_0_matmul_like_3136x256x1024_f16xf16xf32", interval = array<f64: 1.3802183405371633, 1.3849880466709694>, loops = array<i64: 3136, 256, 1024>, op = "matmul", samples = 47 : i64, speedup = 1.3826011367853033 : f64, tuned_us = 22.656268722364722 : f64, workload = "955c871263a4c953"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [3136] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation9 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_784x2048x512_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 28.39171823178183 : f64, device = "cuda://1", dispatch = "wide_7x7x2048_dispatch_0_matmul_like_784x2048x512_f16xf16xf32", interval = array<f64: 1.4464881589318119, 1.4632197197755692>, loops = array<i64: 784, 2048, 512>, op = "matmul", samples = 48 : i64, speedup = 1.4548298864715712 : f64, tuned_us = 19.515315257437166 : f64, workload = "213aead329e552c9"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [784] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation10 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_50176x256x64_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 27.663954068403772 : f64, device = "cuda://1", dispatch = "wide_56x56x256_dispatch_0_matmul_like_50176x256x64_f16xf16xf32", interval = array<f64: 1.201788316297504, 1.2067698580117561>, loops = array<i64: 50176, 256, 64>, op = "matmul", samples = 48 : i64, speedup = 1.2042765113621234 : f64, tuned_us = 22.965161538495224 : f64, workload = "1d951b12d0bf8f5f"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [50176] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [64] : !transform.param<i64>
    %0 = transform.param.constant #compilation11 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_50176x64x256_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 22.365412262143259 : f64, device = "cuda://1", dispatch = "narrow_56x56x64_dispatch_0_matmul_like_50176x64x256_f16xf16xf32", interval = array<f64: 1.2528728856329305, 1.2562456394274242>, loops = array<i64: 50176, 64, 256>, op = "matmul", samples = 48 : i64, speedup = 1.2545581291168706 : f64, tuned_us = 17.877681587899708 : f64, workload = "9dd508f4f9eebf0a"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [50176] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation12 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_12544x128x512_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 21.951878406632567 : f64, device = "cuda://1", dispatch = "narrow_28x28x128_dispatch_0_matmul_like_12544x128x512_f16xf16xf32", interval = array<f64: 1.2033795840179755, 1.2082882775480059>, loops = array<i64: 12544, 128, 512>, op = "matmul", samples = 50 : i64, speedup = 1.2058314329994535 : f64, tuned_us = 18.21503852731707 : f64, workload = "57e01c7c0696dffa"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [12544] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation13 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_12544x512x128_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 21.479237805064209 : f64, device = "cuda://1", dispatch = "wide_28x28x512_dispatch_0_matmul_like_12544x512x128_f16xf16xf32", interval = array<f64: 1.2619115076905312, 1.2674961319188989>, loops = array<i64: 12544, 512, 128>, op = "matmul", samples = 50 : i64, speedup = 1.2647007372583026 : f64, tuned_us = 16.975585667286662 : f64, workload = "bf1a07f284b0ba96"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [12544] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [128] : !transform.param<i64>
    %0 = transform.param.constant #compilation12 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_3136x1024x256_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 18.589934629045683 : f64, device = "cuda://1", dispatch = "wide_14x14x1024_dispatch_0_matmul_like_3136x1024x256_f16xf16xf32", interval = array<f64: 1.1869266192323842, 1.1891233013622029>, loops = array<i64: 3136, 1024, 256>, op = "matmul", samples = 51 : i64, speedup = 1.1880244525834858 : f64, tuned_us = 15.630369047651509 : f64, workload = "c9f5bca70fd30d79"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [3136] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation14 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_conv_16x7x7x512x3x3x512_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x7x7x512x3x3x512_f16_f16_f32_1 -> @apply_op_config, 
        @match_conv_16x112x112x64x7x7x3_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x14x14x256x3x3x256_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x14x14x256x3x3x256_f16_f16_f32_1 -> @apply_op_config, 
        @match_conv_16x28x28x128x3x3x128_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x56x56x64x3x3x64_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x28x28x128x3x3x128_f16_f16_f32_0 -> @apply_op_config, 
        @match_matmul_784x512x2048_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_3136x256x1024_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_784x2048x512_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_50176x256x64_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_50176x64x256_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_12544x128x512_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_12544x512x128_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_3136x1024x256_f16_f16_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
