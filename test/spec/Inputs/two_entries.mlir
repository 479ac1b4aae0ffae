// Two entry points: the compiler runs both, in order, and the second replaces what the first set.
#first = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [16, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
#second = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
module @two_entries attributes {transform.with_named_sequence} {
  transform.named_sequence @__kernel_config(%f: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %f : (!transform.any_op) -> !transform.any_op
    %info = transform.param.constant #first -> !transform.any_param
    transform.annotate %matmul "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield %f : !transform.any_op
  }
  transform.named_sequence @then(%f: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %f : (!transform.any_op) -> !transform.any_op
    %info = transform.param.constant #second -> !transform.any_param
    transform.annotate %matmul "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield %f : !transform.any_op
  }
}
