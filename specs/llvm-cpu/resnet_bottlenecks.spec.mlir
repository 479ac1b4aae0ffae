#config = #iree_cpu.lowering_config<cache_parallel = [4, 0, 0, 0], distribution = [8, 8, 128, 0], vector_common_parallel = [1, 2, 16, 0], vector_reduction = [0, 0, 0, 4]>
#map = affine_map<(d0, d1, d2, d3) -> (d0 * 2, d1 * 2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
module @tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_reduction_14x14x256x128_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "AMD EPYC (family 25, model 17), 2 cores", compiler = "3.13.0", date = "2026-11-21", default_us = 3315.7944999402389 : f64, device = "local-task", dispatch = "main_dispatch_6_reduction_14x14x256x128_f32", interval = array<f64: 1.1816207155936747, 1.3370203329219561>, loops = array<i64: 14, 14, 256, 128>, op = "reduction", samples = 160 : i64, speedup = 1.2633832902000242 : f64, tuned_us = 2417.684499884369 : f64, workload = "a8b6ba41b9332ec8"}} {
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<28x28x128xf32>, %arg2: tensor<128x256xf32>):
      %cst = arith.constant 0.000000e+00 : f32
      %3 = tensor.empty() : tensor<14x14x256xf32>
      %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<14x14x256xf32>) -> tensor<14x14x256xf32>
      %5 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<28x28x128xf32>, tensor<128x256xf32>) outs(%4 : tensor<14x14x256xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %6 = arith.mulf %in, %in_0 : f32
        %7 = arith.addf %out, %6 : f32
        linalg.yield %7 : f32
      } -> tensor<14x14x256xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.get_producer_of_operand %arg0[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["iree_tensor_ext.dispatch.tensor.load"] : !transform.any_op
    %1 = transform.get_producer_of_operand %arg0[1] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %1 ["iree_tensor_ext.dispatch.tensor.load"] : !transform.any_op
    %2 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_reduction_14x14x256x128_f32_f32_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
