// Matchers: which functions of a program a codegen script is for. Each takes a root to look at, as
// transform.collect_matching passes it, and yields the ops that a script works on.

module @matchers attributes { transform.with_named_sequence } {
  // A matrix multiplication whose result is stored as it is. Yields it.
  transform.named_sequence @match_stored_matmul(%store: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %store ["iree_tensor_ext.dispatch.tensor.store"] : !transform.any_op
    %matmul = transform.get_producer_of_operand %store[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %matmul ["linalg.matmul"] : !transform.any_op
    transform.yield %matmul : !transform.any_op
  }

  // An elementwise op on a matrix multiplication's result (its first operand) and on anything else, whose
  // result is stored. Yields it.
  transform.named_sequence @match_stored_elementwise_of_matmul(%store: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %store ["iree_tensor_ext.dispatch.tensor.store"] : !transform.any_op
    %last = transform.get_producer_of_operand %store[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %last ["linalg.generic"] : !transform.any_op
    %matmul = transform.get_producer_of_operand %last[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %matmul ["linalg.matmul"] : !transform.any_op
    transform.match.structured failures(propagate) %last : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.match.structured.dim %op[all] parallel : !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %last : !transform.any_op
  }
}
