// Two of these would look alike without what they require of their operands.
module @conditions attributes { transform.with_named_sequence } {
  transform.named_sequence @match_large(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    %rhs = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %lhs = tensor<?x2048xf16> : !transform.any_value
    transform.iree.match.dim_is_multiple_of %lhs[0], 128 : !transform.any_value
    transform.iree.match.dim_bounds %lhs[0], umin = 256, umax = 4096 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{workgroup = [64, 128, 0]}>, translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32>> -> !transform.any_param
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed}) -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    %done = transform.foreach_match in %module @match_large -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
