// A user's own script: it tiles, and leaves all else to loops.
module attributes { transform.with_named_sequence } {
  transform.named_sequence private @bufferize(!transform.any_op {transform.consumed}) -> !transform.any_op
  transform.named_sequence private @leave_to_llvm(!transform.any_op {transform.readonly})
  transform.named_sequence private @match_stored_matmul(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence @codegen(%last: !transform.any_op {transform.consumed}) {
    %rows = transform.param.constant 32 : i64 {iree_tuner.knob = "rows", iree_tuner.values = array<i64: 16, 32>} -> !transform.param<i64>
    transform.annotate %last "mine" : !transform.any_op
    %tile, %grid = transform.structured.tile_using_forall %last tile_sizes [%rows, 32] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %func = transform.get_parent_op %grid <op_name = "func.func"> : (!transform.any_op) -> !transform.any_op
    %fill = transform.structured.match ops{["linalg.fill"]} in %func : (!transform.any_op) -> !transform.any_op
    %zeros, %filled = transform.structured.fuse_into_containing_op %fill into %grid : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.iree.populate_workgroup_count_region_using_num_threads_slice %filled : (!transform.any_op) -> ()
    %memory = transform.include @bufferize failures(propagate) (%func) : (!transform.any_op) -> !transform.any_op
    transform.iree.forall_to_workgroup %memory : (!transform.any_op) -> ()
    transform.include @leave_to_llvm failures(propagate) (%memory) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @__kernel_config(%func: !transform.any_op {transform.readonly}) {
    %found = transform.collect_matching @match_stored_matmul in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %found : !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      transform.include @codegen failures(propagate) (%matmul) : (!transform.any_op) -> ()
    }
    transform.yield
  }
}
