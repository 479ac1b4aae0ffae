#config = #iree_cpu.lowering_config<distribution = [128, 0], vector_common_parallel = [128, 0], vector_reduction = [0, 16]>
#config1 = #iree_cpu.lowering_config<distribution = [128, 0], vector_common_parallel = [128, 0], vector_reduction = [0, 8]>
#map = affine_map<(d0, d1) -> (d1)>
#map1 = affine_map<(d0, d1) -> (d1, d0)>
#map2 = affine_map<(d0, d1) -> (d0)>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #config1, translation_info = #translation>
module @tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_vecmat_1024x1024_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 121.74192186620303 : f64, device = "local-task", dispatch = "main_dispatch_1_vecmat_1024x1024_f32", interval = array<f64: 2.6873846005436288, 2.8451310997495591>, loops = array<i64: 1024, 1024>, op = "vecmat", samples = 160 : i64, speedup = 2.7715110922212669 : f64, tuned_us = 40.263641538044126 : f64, workload = "1282b5b26362e3be"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_vecmat_1024x784_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 87.351045460143894 : f64, device = "local-task", dispatch = "main_dispatch_0_vecmat_1024x784_f32", interval = array<f64: 2.5335921761315858, 2.805191920695687>, loops = array<i64: 1024, 784>, op = "vecmat", samples = 160 : i64, speedup = 2.604613844897167 : f64, tuned_us = 31.453214303058171 : f64, workload = "da01fda796701cc6"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [784] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_vecmat_1024x1024_f32_f32_f32 -> @apply_op_config, 
        @match_vecmat_1024x784_f32_f32_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
