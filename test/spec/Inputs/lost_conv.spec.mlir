// A spec that matches a convolution whose batch is folded away, without the pass that gives it back.
module @spec attributes {transform.with_named_sequence} {
  transform.named_sequence @match_conv(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %b, %oi, %oc, %f, %ic, %d, %s, %di = transform.iree.match.convolution %op, lhs_type = f32, rhs_type = f32, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %oi, [56, 56] : !transform.param<i64>
    %cfg = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [2, 28, 32, 0, 0, 0], vector_common_parallel = [1, 14, 16, 0, 0, 0], vector_reduction = [0, 0, 0, 1, 1, 8]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>> -> !transform.any_param
    transform.yield %op, %cfg : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %cfg: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %cfg : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%variant_op: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %r = transform.foreach_match in %variant_op @match_conv -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %r : !transform.any_op
  }
}
