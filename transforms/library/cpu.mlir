// Stages of code generation for processors, which scripts put together. They work on one function of a
// dispatch, whose last structured op has the attribute "root".

module @cpu attributes { transform.with_named_sequence } {
  transform.named_sequence @cleanup(%func: !transform.any_op {transform.readonly}) {
    transform.apply_patterns to %func {
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.scf.for_loop_canonicalization
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }

  // Loops over tiles of the result that fit into registers, with all that the root uses fused into them, and
  // a loop over the depth of the sums. What tiles leave over is done one row, one column, one step at a time:
  // all sizes are static, so that everything becomes vectors and nothing needs memory of its own.
  transform.named_sequence @tile_for_registers(
      %func: !transform.any_op {transform.readonly}, %rows: !transform.param<i64> {transform.readonly},
      %columns: !transform.param<i64> {transform.readonly}, %depth: !transform.param<i64> {transform.readonly}) {
    %root = transform.structured.match attributes {root} in %func : (!transform.any_op) -> !transform.any_op
    // Not cleaned up before all is peeled: a loop of one iteration would be gone.
    %tile, %down, %across = transform.structured.fuse %root tile_sizes [%rows, %columns]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.op<"scf.for">, !transform.op<"scf.for">)
    transform.include @peel_columns failures(suppress) (%across) : (!transform.op<"scf.for">) -> ()
    transform.include @peel_rows failures(suppress) (%down) : (!transform.op<"scf.for">) -> ()
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()

    %few_rows = transform.structured.match attributes {few_rows} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %few_rows : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      %last = transform.structured.match attributes {root} in %loop : (!transform.any_op) -> !transform.any_op
      %row, %each = transform.structured.fuse %last tile_sizes [1, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()
    %few_columns = transform.structured.match attributes {few_columns} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %few_columns : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      %last = transform.structured.match attributes {root} in %loop : (!transform.any_op) -> !transform.any_op
      %column, %each = transform.structured.fuse %last tile_sizes [0, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()

    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %matmuls : !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %step, %sum = transform.structured.tile_using_for %matmul tile_sizes [0, 0, %depth]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.op<"scf.for">)
      transform.include @peel_depth failures(suppress) (%sum) : (!transform.op<"scf.for">) -> ()
    }
    %few_steps = transform.structured.match attributes {few_steps} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %few_steps : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      %last = transform.structured.match ops{["linalg.matmul"]} in %loop : (!transform.any_op) -> !transform.any_op
      %one, %each = transform.structured.tile_using_for %last tile_sizes [0, 0, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()
    transform.yield
  }

  // Where tiles divide, nothing is left over, and peeling fails: includes suppress that.
  transform.named_sequence @peel_rows(%loop: !transform.op<"scf.for"> {transform.consumed}) {
    %whole, %rest = transform.loop.peel %loop : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.annotate %rest "few_rows" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @peel_columns(%loop: !transform.op<"scf.for"> {transform.consumed}) {
    %whole, %rest = transform.loop.peel %loop : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.annotate %rest "few_columns" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @peel_depth(%loop: !transform.op<"scf.for"> {transform.consumed}) {
    %whole, %rest = transform.loop.peel %loop : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.annotate %rest "few_steps" : !transform.any_op
    transform.yield
  }

  // Sums stay in registers from one step to the next.
  transform.named_sequence @vectorize(%func: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %vectors = transform.structured.vectorize_children_and_apply_patterns %func
      : (!transform.any_op) -> !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %vectors : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %loop : !transform.any_op
    }
    transform.include @cleanup failures(propagate) (%vectors) : (!transform.any_op) -> ()
    transform.yield %vectors : !transform.any_op
  }

  transform.named_sequence @bufferize(%func: !transform.any_op {transform.consumed}) -> !transform.any_op {
    transform.iree.eliminate_empty_tensors %func : (!transform.any_op) -> ()
    %memory = transform.iree.bufferize %func : (!transform.any_op) -> !transform.any_op
    transform.yield %memory : !transform.any_op
  }

  // The loop over workgroups becomes the workgroup's number.
  transform.named_sequence @distribute(%func: !transform.any_op {transform.readonly}) {
    transform.iree.forall_to_workgroup %func : (!transform.any_op) -> ()
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()
    // Copies of memory to itself are seen to be that only now.
    transform.include @cleanup failures(propagate) (%func) : (!transform.any_op) -> ()
    transform.yield
  }

  // Contractions become outer products, those fused multiply-adds of a row; transfers become loads and stores.
  transform.named_sequence @lower_vectors(%func: !transform.any_op {transform.readonly}) {
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = outerproduct
      transform.apply_patterns.vector.transfer_permutation_patterns
    } : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_transpose
      transform.apply_patterns.vector.lower_shape_cast
      transform.apply_patterns.vector.lower_broadcast
    } : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.transfer_to_scf full_unroll = true
      transform.apply_patterns.vector.lower_transfer max_transfer_rank = 1
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }

  // The compiler generates no code of its own for the function, only lowers it to LLVM.
  transform.named_sequence @leave_to_llvm(%func: !transform.any_op {transform.readonly}) {
    %info = transform.param.constant #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>
      -> !transform.any_param
    transform.annotate %func "translation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }
}
