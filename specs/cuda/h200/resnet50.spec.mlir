#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [4, 1, 16, 128, 256], padding_conv = [4, 1, 16, 128, 0, 0, 256], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 16], subgroup = [1, 1, 1, 16, 0], workgroup = [4, 1, 16, 128, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [4, 1, 16, 64, 256], padding_conv = [4, 1, 16, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 16], subgroup = [2, 1, 1, 4, 0], workgroup = [4, 1, 16, 64, 0]}>, translation_info = #translation>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 8, 16, 64, 32], padding_conv = [2, 8, 16, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [2, 2, 1, 4, 0], workgroup = [2, 8, 16, 64, 0]}>, translation_info = #translation1>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 2, 16, 64, 128], padding_conv = [2, 2, 16, 64, 0, 0, 128], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 8], subgroup = [2, 1, 1, 8, 0], workgroup = [2, 2, 16, 64, 0]}>, translation_info = #translation2>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 7, 16, 64, 256], padding_conv = [1, 7, 16, 64, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 16], subgroup = [1, 7, 1, 2, 0], workgroup = [1, 7, 16, 64, 0]}>, translation_info = #translation>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [2, 2, 32, 128, 144], padding_conv = [2, 2, 32, 128, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 9], subgroup = [1, 2, 1, 16, 0], workgroup = [2, 2, 32, 128, 0]}>, translation_info = #translation>
module @tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
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
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_conv_16x7x7x512x3x3x512_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x7x7x512x3x3x512_f16_f16_f32_1 -> @apply_op_config, 
        @match_conv_16x112x112x64x7x7x3_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x14x14x256x3x3x256_f16_f16_f32 -> @apply_op_config, 
        @match_conv_16x14x14x256x3x3x256_f16_f16_f32_1 -> @apply_op_config, 
        @match_conv_16x28x28x128x3x3x128_f16_f16_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
