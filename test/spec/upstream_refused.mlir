// What the compiler's verifier refuses of a default spec is one line, with the place, and status 1; so it is with what
// it refuses only when it runs a spec, or links it.
// RUN: not %iree_tuner spec check %s 2>&1 | FileCheck %s
// RUN: not %iree_tuner spec link %s -o %t.linked.mlir 2>&1 | FileCheck %s
// RUN: sed -e 's/, iree_codegen.tuning_spec_with_default_entrypoint//' %s > %t.mlir
// RUN: not %iree_tuner spec check %t.mlir 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not %iree_tuner spec link %t.mlir -o %t.linked.mlir 2>&1 | FileCheck %s --check-prefix=LINK

// CHECK-NOT: Traceback
// CHECK: error: {{.*}}upstream_refused.mlir:14:1: cannot parse: Expected one named sequence with 'iree_codegen.tuning_spec_entrypoint', but found 2 (required by 'iree_codegen.tuning_spec_with_default_entrypoint')
// MIXED: error: {{.*}}: @reads: only reads its argument, and @__kernel_config consumes it: mark both transform.consumed to link them
// LINK: error: cannot link: @reads of {{.*}} only reads its argument, and @__kernel_config of {{.*}} consumes it

module @two attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "marked" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%f: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %f @match -> @mark : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
  transform.named_sequence @reads(%f: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.print %f name = "reads" : !transform.any_op
    transform.yield %f : !transform.any_op
  }
}
