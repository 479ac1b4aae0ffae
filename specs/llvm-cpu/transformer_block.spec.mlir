#config = #iree_cpu.lowering_config<distribution = [32, 96, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 6]>
#config1 = #iree_cpu.lowering_config<cache_parallel = [16, 0, 0], distribution = [96, 256, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 1]>
#config2 = #iree_cpu.lowering_config<distribution = [64, 96, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 12]>
#config3 = #iree_cpu.lowering_config<distribution = [16, 4, 48], vector_common_parallel = [2, 1, 16]>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #config1, translation_info = #translation>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #config2, translation_info = #translation>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #config3, translation_info = #translation>
module @tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_matmul_128x256x1024_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 337.06126840202376 : f64, device = "local-task", dispatch = "main_dispatch_16_matmul_128x256x1024_f32", interval = array<f64: 1.0241675830040804, 1.0853574029713686>, loops = array<i64: 128, 256, 1024>, op = "matmul", samples = 160 : i64, speedup = 1.0406671505669232 : f64, tuned_us = 312.22840627265214 : f64, workload = "562367ffc9196a07"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_128x1024x256_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 470.91422007507271 : f64, device = "local-task", dispatch = "main_dispatch_15_matmul_128x1024x256_f32", interval = array<f64: 1.3387988845698311, 1.5313388088025839>, loops = array<i64: 128, 1024, 256>, op = "matmul", samples = 160 : i64, speedup = 1.3828057364309656 : f64, tuned_us = 340.12102084880604 : f64, workload = "f6f761bf3e2aaba2"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_128x768x256_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 314.40818747796584 : f64, device = "local-task", dispatch = "main_dispatch_2_matmul_128x768x256_f32", interval = array<f64: 1.2414747445291112, 1.3612368094994189>, loops = array<i64: 128, 768, 256>, op = "matmul", samples = 160 : i64, speedup = 1.3005661742843844 : f64, tuned_us = 244.25843865132759 : f64, workload = "75fcb16f671e3404"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_transpose_128x4x64_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 8.4298267814475061 : f64, device = "local-task", dispatch = "main_dispatch_6_transpose_128x4x64_f32", interval = array<f64: 3.1651716336172475, 3.6121081447358292>, loops = array<i64: 128, 4, 64>, op = "transpose", samples = 160 : i64, speedup = 3.3443807579905158 : f64, tuned_us = 2.4958840115954537 : f64, workload = "87e64f7e7cc199c0"}} {
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<128x4x64xf32>):
      %2 = tensor.empty() : tensor<4x128x64xf32>
      %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<128x4x64xf32>) outs(%2 : tensor<4x128x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x128x64xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.get_producer_of_operand %arg0[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["iree_tensor_ext.dispatch.tensor.load"] : !transform.any_op
    %1 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_matmul_128x256x1024_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_128x1024x256_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_128x768x256_f32_f32_f32 -> @apply_op_config, 
        @match_transpose_128x4x64_f32_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
