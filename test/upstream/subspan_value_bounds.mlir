// What the compiler proves about the size of a bound buffer: nothing (docs/upstream/subspan_value_bounds.md).
// If this changes, bounds of dynamic loops may be asked of any operand.
// RUN: %iree_opt %s --transform-interpreter | FileCheck %s
// CHECK: linalg.copy {init_is_bounded} ins

module attributes {transform.with_named_sequence} {
  func.func @f(%size: index) -> tensor<?x4xf32> {
    %m = util.assume.int %size<umin = 16, umax = 64> : index
    %c0 = arith.constant 0 : index
    %buffer = hal.interface.binding.subspan layout(<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>) binding(0) alignment(64) offset(%c0) : memref<?x4xf32>{%m}
    %value = iree_codegen.load_from_buffer %buffer : memref<?x4xf32> -> tensor<?x4xf32>
    %empty = tensor.empty(%m) : tensor<?x4xf32>
    %copy = linalg.copy ins(%value : tensor<?x4xf32>) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
    return %copy : tensor<?x4xf32>
  }
  transform.named_sequence @init(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    %v = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %v[0], umin = 16, umax = 64 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @input(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.copy"] : !transform.any_op
    %v = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %v[0], umin = 16, umax = 64 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @mark_init(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "init_is_bounded" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @mark_input(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "input_is_bounded" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.consumed}) {
    %1 = transform.foreach_match in %module @init -> @mark_init : (!transform.any_op) -> !transform.any_op
    %2 = transform.foreach_match in %1 @input -> @mark_input : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
