// RUN: not %iree_tuner spec check %s --program %S/Inputs/matmul.mlir 2>&1 | FileCheck %s

// A spec that was not built here, with mistakes: two matchers that hit one dispatch, a sequence
// that nothing uses, a matcher that repeats another, and an attribute that nobody reads.
#config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 16]>
#info = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
module @theirs attributes {transform.with_named_sequence} {
  transform.named_sequence @match_fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @match_matmul(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @match_again(%root: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %root ["linalg.matmul"] : !transform.any_op
    transform.yield %root : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %info = transform.param.constant #info -> !transform.any_param
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.annotate %op "compilation_inof" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @left_over(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence @__kernel_config(%function: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %function @match_fill -> @apply, @match_matmul -> @apply, @match_again -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// CHECK-DAG: @match_again: never fires: matches what @match_matmul matches, which comes first
// CHECK-DAG: @left_over: nothing uses this sequence
// CHECK-DAG: @apply: sets 'compilation_inof', which the compiler does not read
// CHECK-DAG: @match_again: matches no dispatch of the program
// CHECK-DAG: @match_fill and @match_matmul configure dispatch mm_dispatch_0, which accepts one configuration
// CHECK-DAG: the compiler rejects the configured program: {{.*}}multiple ops within dispatch trying to set the translation info
