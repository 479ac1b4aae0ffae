// Matrix multiplications on processors: tiles for workgroups, tiles for registers, vectors, memory.
//
//   iree-tuner bench programs/matmuls/matmul.mlir --transform-script cpu_matmul --search
//   iree-tuner script link cpu_matmul -o linked.mlir
//   iree-compile ... --iree-codegen-transform-dialect-library=linked.mlir
//
// A constant with an iree_tuner.knob is a knob: its value here is the default, iree_tuner.values are those to
// search. A sequence with iree_tuner.stages is shown stage by stage, one for each transform.include.

module @cpu_matmul attributes {
  transform.with_named_sequence,
  iree_tuner.summary = "a matrix multiplication whose result is stored as it is (llvm-cpu)"
} {
  transform.named_sequence private @match_stored_matmul(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @cleanup(!transform.any_op {transform.readonly})
  transform.named_sequence private @tile_for_registers(
    !transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  transform.named_sequence private @vectorize(!transform.any_op {transform.consumed}) -> !transform.any_op
  transform.named_sequence private @bufferize(!transform.any_op {transform.consumed}) -> !transform.any_op
  transform.named_sequence private @distribute(!transform.any_op {transform.readonly})
  transform.named_sequence private @lower_vectors(!transform.any_op {transform.readonly})
  transform.named_sequence private @leave_to_llvm(!transform.any_op {transform.readonly})

  // A workgroup for each tile of the result, which it fills with zeros itself.
  transform.named_sequence @tile_for_workgroups(
      %func: !transform.any_op {transform.readonly}, %matmul: !transform.any_op {transform.consumed},
      %rows: !transform.param<i64> {transform.readonly}, %columns: !transform.param<i64> {transform.readonly}) {
    transform.annotate %matmul "root" : !transform.any_op
    %tile, %grid = transform.structured.tile_using_forall %matmul tile_sizes [%rows, %columns]
      (mapping = [#gpu.block<y>, #gpu.block<x>])
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.iree.populate_workgroup_count_region_using_num_threads_slice %grid : (!transform.any_op) -> ()
    %fill = transform.structured.match ops{["linalg.fill"]} in %func : (!transform.any_op) -> !transform.any_op
    %zeros, %filled = transform.structured.fuse_into_containing_op %fill into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence @codegen(%matmul: !transform.any_op {transform.consumed}) attributes { iree_tuner.stages } {
    %tile_rows = transform.param.constant 64 : i64
      {iree_tuner.knob = "tile_rows", iree_tuner.values = array<i64: 8, 16, 24, 32, 48, 64, 96, 128, 192, 256>} -> !transform.param<i64>
    %tile_columns = transform.param.constant 64 : i64
      {iree_tuner.knob = "tile_columns", iree_tuner.values = array<i64: 16, 32, 48, 64, 96, 128, 192, 256, 384, 512>} -> !transform.param<i64>
    %rows = transform.param.constant 4 : i64
      {iree_tuner.knob = "rows", iree_tuner.values = array<i64: 1, 2, 4, 6, 8, 12>, iree_tuner.divides = "tile_rows"} -> !transform.param<i64>
    %columns = transform.param.constant 16 : i64
      {iree_tuner.knob = "columns", iree_tuner.values = array<i64: 8, 16, 24, 32, 48, 64>, iree_tuner.divides = "tile_columns"} -> !transform.param<i64>
    %depth = transform.param.constant 1 : i64
      {iree_tuner.knob = "depth", iree_tuner.values = array<i64: 1, 2, 4, 8>} -> !transform.param<i64>
    %func = transform.get_parent_op %matmul <op_name = "func.func"> : (!transform.any_op) -> !transform.any_op
    transform.include @tile_for_workgroups failures(propagate) (%func, %matmul, %tile_rows, %tile_columns)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @tile_for_registers failures(propagate) (%func, %rows, %columns, %depth)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    %vectors = transform.include @vectorize failures(propagate) (%func) : (!transform.any_op) -> !transform.any_op
    %memory = transform.include @bufferize failures(propagate) (%vectors) : (!transform.any_op) -> !transform.any_op
    transform.include @distribute failures(propagate) (%memory) : (!transform.any_op) -> ()
    transform.include @lower_vectors failures(propagate) (%memory) : (!transform.any_op) -> ()
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
