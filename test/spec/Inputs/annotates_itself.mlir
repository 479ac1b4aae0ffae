// A spec without a foreach_match: it finds the op itself.
module @annotates_itself attributes { transform.with_named_sequence } {
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %module : (!transform.any_op) -> !transform.any_op
    %config = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [16, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.annotate %matmul "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield %module : !transform.any_op
  }
}
