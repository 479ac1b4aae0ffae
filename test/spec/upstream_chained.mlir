// A module of specs of other forms, one with two entry points: `spec link` includes them all, in the order in which
// the compiler's own pass does.
// RUN: %iree_opt --no-implicit-module --iree-codegen-link-tuning-specs %s | FileCheck %s
// RUN: %iree_tuner spec link %s | FileCheck %s

// CHECK: module @{{.+}} attributes {transform.with_named_sequence}
// CHECK: module @[[FIRST:[a-z_0-9]+]] attributes {transform.with_named_sequence}
// CHECK: name = "one"
// CHECK: name = "two"
// CHECK: module @[[SECOND:[a-z_0-9]+]] attributes {transform.with_named_sequence}
// CHECK: name = "three"
// CHECK: transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint}
// CHECK-NEXT: [[A:%.+]] = transform.include @[[FIRST]]::@{{.+}} failures(suppress) (%arg0)
// CHECK-NEXT: [[B:%.+]] = transform.include @[[FIRST]]::@{{.+}} failures(suppress) ([[A]])
// CHECK-NEXT: [[C:%.+]] = transform.include @[[SECOND]]::@{{.+}} failures(suppress) ([[B]])
// CHECK-NEXT: transform.yield [[C]]

module @all attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    transform.named_sequence @say(%f: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.print %f name = "one" : !transform.any_op
      transform.yield %f : !transform.any_op
    }
    transform.named_sequence @__kernel_config(%f: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.print %f name = "two" : !transform.any_op
      transform.yield %f : !transform.any_op
    }
  }
  module @second attributes {transform.with_named_sequence} {
    transform.named_sequence @say(%f: !transform.any_op {transform.readonly}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
      transform.print %f name = "three" : !transform.any_op
      transform.yield %f : !transform.any_op
    }
  }
}
