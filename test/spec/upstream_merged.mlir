// A module of default specs: `spec link` makes what the compiler's own pass makes of it. Names that occur twice are
// told apart, one of them by a number that is not taken; what comes first is tried first.
// RUN: %iree_opt --no-implicit-module --iree-codegen-link-tuning-specs %s | FileCheck %s
// RUN: %iree_tuner spec link %s | FileCheck %s
// RUN: not %iree_tuner spec check %s 2>&1 | FileCheck %s --check-prefix=CHECK-IT

// CHECK: module @{{.*}} attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence}
// CHECK-NOT: module
// CHECK: transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed})
// CHECK-NEXT: transform.foreach_match in %arg0
// CHECK-NEXT: @pick -> @set,
// CHECK-NEXT: @pick_0 -> @set_1,
// CHECK-NEXT: @other -> @set_0 :
// CHECK-NEXT: transform.yield

// CHECK-IT: error: {{.*}}upstream_merged.mlir: not a tuning spec: {{.*}} (the modules in it are: iree-tuner spec link makes one spec of them)

module @both attributes {transform.with_named_sequence} {
  module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
    transform.named_sequence @pick(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @set(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "first" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%f: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %done = transform.foreach_match in %f @pick -> @set : (!transform.any_op) -> !transform.any_op
      transform.yield %done : !transform.any_op
    }
  }
  module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
    transform.named_sequence @pick(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @other(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
      transform.match.operation_name %op ["linalg.pack"] : !transform.any_op
      transform.yield %op : !transform.any_op
    }
    transform.named_sequence @set(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "second" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @set_0(%op: !transform.any_op {transform.readonly}) {
      transform.annotate %op "third" : !transform.any_op
      transform.yield
    }
    transform.named_sequence @__kernel_config(%f: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      %done = transform.foreach_match in %f @pick -> @set, @other -> @set_0 : (!transform.any_op) -> !transform.any_op
      transform.yield %done : !transform.any_op
    }
  }
}
