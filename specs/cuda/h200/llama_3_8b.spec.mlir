#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <None>>}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false, reorder_workgroups_strategy = <None>>}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation4 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[1, 2, 1], [0, 1, 2]], workgroup = [64, 128, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>, translation_info = #translation1>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[4, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>, translation_info = #translation2>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{convert_acc_gemm, mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [2, 2, 0], workgroup = [32, 64, 0]}>, translation_info = #translation1>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 1024], subgroup_basis = [[1, 1, 8], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 1, 0]}>, translation_info = #translation3>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 4096], subgroup_basis = [[1, 1, 16], [0, 1, 2]], thread = [0, 0, 8], workgroup = [1, 2, 0]}>, translation_info = #translation4>
#compilation6 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 512], subgroup_basis = [[1, 1, 8], [0, 1, 2]], thread = [0, 0, 2], workgroup = [1, 1, 0]}>, translation_info = #translation3>
module @linked_tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_matmul_512x4096x14336_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 537.79565789562571 : f64, device = "cuda://0", dispatch = "prefill_down_dispatch_0_matmul_512x4096x14336_f16xf16xf32", interval = array<f64: 1.6207982447723521, 1.6224126600722257>, loops = array<i64: 512, 4096, 14336>, op = "matmul", samples = 64 : i64, speedup = 1.621605251515148 : f64, tuned_us = 331.28846774247683 : f64, workload = "d2ec0b72ad4b20d8"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [14336] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_512x14336x4096_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 505.33554999958596 : f64, device = "cuda://0", dispatch = "prefill_gate_up_dispatch_0_matmul_512x14336x4096_f16xf16xf32", interval = array<f64: 1.6959222067894932, 1.7020813034721374>, loops = array<i64: 512, 14336, 4096>, op = "matmul", samples = 64 : i64, speedup = 1.6989989641902683 : f64, tuned_us = 297.5443714287199 : f64, workload = "23655e45c08bbfb2"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_512x4096x4096_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 154.98700735312977 : f64, device = "cuda://0", dispatch = "prefill_q_o_dispatch_0_matmul_512x4096x4096_f16xf16xf32", interval = array<f64: 1.4140024899146471, 1.4172649529827428>, loops = array<i64: 512, 4096, 4096>, op = "matmul", samples = 54 : i64, speedup = 1.41563278161618 : f64, tuned_us = 108.85107894774879 : f64, workload = "556b06cbc1461290"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_512x1024x4096_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 83.542906504285056 : f64, device = "cuda://0", dispatch = "prefill_k_v_dispatch_0_matmul_512x1024x4096_f16xf16xf32", interval = array<f64: 1.4165924846578142, 1.4180649678485404>, loops = array<i64: 512, 1024, 4096>, op = "matmul", samples = 58 : i64, speedup = 1.4173285350301699 : f64, tuned_us = 58.929488439506358 : f64, workload = "b133073a3bfe65c0"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_1x4096x14336_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 35.352806666537617 : f64, device = "cuda://0", dispatch = "decode_down_dispatch_0_matmul_1x4096x14336_f16xf16xf32", interval = array<f64: 1.1882588793682105, 1.196155353873412>, loops = array<i64: 1, 4096, 14336>, op = "matmul", samples = 64 : i64, speedup = 1.1922005789060437 : f64, tuned_us = 29.702997191118435 : f64, workload = "8d90c81cb0013fb4"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [14336] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_1x14336x4096_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 30.269056358288857 : f64, device = "cuda://0", dispatch = "decode_gate_up_dispatch_0_matmul_1x14336x4096_f16xf16xf32", interval = array<f64: 1.019433220142218, 1.0227473546799044>, loops = array<i64: 1, 14336, 4096>, op = "matmul", samples = 64 : i64, speedup = 1.0210889428317544 : f64, tuned_us = 29.620721126557839 : f64, workload = "ac8f0242639d0c20"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation5 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_1x4096x4096_f16_f16_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 11.90381708722475 : f64, device = "cuda://0", dispatch = "decode_q_o_dispatch_0_matmul_1x4096x4096_f16xf16xf32", interval = array<f64: 1.0585220520859131, 1.0628521459634017>, loops = array<i64: 1, 4096, 4096>, op = "matmul", samples = 64 : i64, speedup = 1.0606848894035856 : f64, tuned_us = 11.22874247313678 : f64, workload = "4becdd3d81e74ccb"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation6 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_matmul_512x4096x14336_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_512x14336x4096_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_512x4096x4096_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_512x1024x4096_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_1x4096x14336_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_1x14336x4096_f16_f16_f32 -> @apply_op_config, 
        @match_matmul_1x4096x4096_f16_f16_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
