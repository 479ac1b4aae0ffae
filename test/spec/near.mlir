// For each dispatch the matchers that hit it; of those that nearly do, the first condition that fails.
// RUN: not %iree_tuner spec check %s --program %S/Inputs/near_program.mlir 2>&1 | FileCheck %s
// RUN: not %iree_tuner spec check %s --program %S/Inputs/near_program.mlir --json | FileCheck %s --check-prefix=JSON
// RUN: not %iree_tuner spec check %s --program %S/Inputs/near_program.mlir --target hip:gfx942 2>&1 | FileCheck %s --check-prefix=GPU
#config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 16]>
#info = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
#few = #iree_cpu.lowering_config<distribution = [64], vector_common_parallel = [16]>
#fill = #iree_codegen.compilation_info<lowering_config = #few, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
module @near attributes {transform.with_named_sequence} {
  transform.named_sequence @is_f32(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32
      : !transform.any_op -> !transform.param<i64>
    transform.yield %k : !transform.param<i64>
  }
  transform.named_sequence @is_f16(%op: !transform.any_op {transform.readonly}) {
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32
      : !transform.any_op -> !transform.param<i64>
    transform.yield
  }
  transform.named_sequence @match_fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %value = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %value = tensor<512xf32> : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @match_k(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %k = transform.include @is_f32 failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @match_f16(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @is_f16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @match_columns(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul", "linalg.generic"] : !transform.any_op
    %rhs = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_is_multiple_of %rhs[1], 48 : !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @match_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%in: tensor<?x?xf32>, %init: tensor<?xf32>):
      %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]} ins(%in : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
      ^bb0(%x: f32, %y: f32):
        %absolute = math.absf %x : f32
        %sum = arith.addf %absolute, %y : f32
        linalg.yield %sum : f32
      } -> tensor<?xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply_to_fill(%op: !transform.any_op {transform.readonly}) {
    %info = transform.param.constant #fill -> !transform.any_param
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %info = transform.param.constant #info -> !transform.any_param
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%function: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %function @match_fill -> @apply_to_fill, @match_k -> @apply, @match_f16 -> @apply, @match_columns -> @apply, @match_rows -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}

// CHECK: @match_fill matches one: rows_dispatch_0
// CHECK: @match_k matches none
// CHECK: mm_dispatch_0 is not matched
// CHECK-NEXT: {{^}}  @match_fill nearly matches mm_dispatch_0 (linalg.fill): type of operand 1: tensor<256x512xf32>, expected tensor<512xf32> [transform.iree.match.cast_compatible_type, line 23]
// CHECK-NEXT: {{^}}  @match_columns nearly matches mm_dispatch_0 (linalg.matmul): dim 1 of operand 1: 512, expected a multiple of 48 [transform.iree.match.dim_is_multiple_of, line 38]
// CHECK-NEXT: {{^}}  @match_k nearly matches mm_dispatch_0 (linalg.matmul): size of k: 128, expected 256 [transform.iree.match.dims_equal, line 28]
// CHECK-NEXT: {{^}}  @match_f16 nearly matches mm_dispatch_0 (linalg.matmul): element type of lhs: f32, expected f16 [transform.iree.match.contraction, line 16]
// CHECK-NEXT: conv_dispatch_0 is not matched
// CHECK: rows_dispatch_0 is matched by @match_fill
// CHECK-NEXT: {{^}}  @match_columns nearly matches rows_dispatch_0 (linalg.generic): rank of operand 1: 1, expected more than 1
// CHECK-NEXT: {{^}}  @match_rows nearly matches rows_dispatch_0 (linalg.generic): body of linalg.generic: %3: f32 = arith.maximumf %2, %1 {fastmath = #arith.fastmath<none>}, expected %3: f32 = arith.addf %2, %1 {fastmath = #arith.fastmath<none>} [transform.iree.match.cast_compatible_dag_from_root, line 42]
// CHECK-NEXT: attention_dispatch_0 is not matched
// CHECK: error: {{.*}}near.mlir: @match_k: matches no dispatch of the program

// JSON: {"matcher": "match_fill", "hits": "one", "dispatches": [{"dispatch": "rows_dispatch_0",
// JSON: {"problem": "hits_nothing", "where": "match_k",
// JSON: {"dispatch": "mm_dispatch_0", "matchers": [], "near": [
// JSON-SAME: {"matcher": "match_k", "dispatch": "mm_dispatch_0", "op": "linalg.matmul", "kind": "size", "condition": "transform.iree.match.dims_equal", "what": "size of k", "found": "128", "expected": "256", "line": 28, "held": [1, 0], "reason": "size of k: 128, expected 256"}
// JSON-SAME: "kind": "element_type"
// JSON: {"dispatch": "rows_dispatch_0", "matchers": ["match_fill"], "near": [

// GPU: @match_k nearly matches mm_dispatch_0 (linalg.generic): size of k: 128, expected 256
// GPU: {{^}}  and 1 more (--json lists all)
