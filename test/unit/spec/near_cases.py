"""Matchers that hit ops of `near_program.mlir`, and changes that make each wrong in one condition."""

from __future__ import annotations

from dataclasses import dataclass

OP = ": !transform.any_op"
SIZES = ": !transform.param<i64>"
VALUE = ": !transform.any_value"
TO_VALUE = ": (!transform.any_op) -> !transform.any_value"

BASES = {
    "contraction": f"""
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                       affine_map<(d0, d1, d2) -> (d0, d1)>] {OP} -> !transform.param<i64>
    transform.iree.match.dims_equal %b, [] {SIZES}
    transform.iree.match.dims_equal %m, [256] {SIZES}
    transform.iree.match.dims_equal %n, [-1] {SIZES}
    transform.iree.match.dims_equal %k, [128] {SIZES}""",
    "values": f"""
    transform.match.operation_name %op ["linalg.matmul"] {OP}
    transform.iree.match.has_no_lowering_config %op {OP}
    %lhs = transform.get_operand %op[0] {TO_VALUE}
    %rhs = transform.get_operand %op[-2] {TO_VALUE}
    transform.iree.match.cast_compatible_type %lhs = tensor<?x128xf32> {VALUE}
    transform.iree.match.dim_is_multiple_of %rhs[1], 64 {VALUE}
    transform.iree.match.dim_bounds %rhs[0], umin = 64, umax = 128 {VALUE}
    transform.iree.match.dim_bounds %lhs[0], umin = 16, none {VALUE}
    %init = transform.get_producer_of_operand %op[2] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %init ["linalg.fill"] {OP}""",
    "helper": """
    transform.include @is_a_matmul failures(propagate) (%op) : (!transform.any_op) -> ()""",
    "body": f"""
    transform.match.operation_name %op ["linalg.matmul"] {OP}
    transform.match.structured %op {OP} {{
    ^bb0(%it: !transform.any_op):
      transform.match.structured.body %it contraction = ["arith.mulf", "arith.addf"] {OP}
      transform.match.structured.yield
    }}""",
    "convolution": f"""
    %n, %image, %oc, %filter, %ic, %depth, %strides, %dilations = transform.iree.match.convolution %op,
      lhs_type = f32, rhs_type = f32, output_type = f32 {OP} -> !transform.param<i64>
    transform.iree.match.dims_equal %image, [28, 28] {SIZES}
    transform.iree.match.dims_equal %ic, [16] {SIZES}
    transform.iree.match.dims_equal %strides, [2, 2] {SIZES}
    transform.iree.match.dims_equal %dilations, [1, 1] {SIZES}""",
    "attention": f"""
    %b, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op, query_type = f32, key_type = f32,
      value_type = f32, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32,
      indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>,
        affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
        affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
        affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
        affine_map<(b, m, n, k1, k2) -> (b, m)>] {OP} -> !transform.param<i64>
    transform.iree.match.dims_equal %k2, [128] {SIZES}""",
    "dag": """
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%in: tensor<512x1024xf32>):
      %one = arith.constant 1.0 : f32
      %empty = tensor.empty() : tensor<512xf32>
      %init = linalg.fill ins(%one : f32) outs(%empty : tensor<512xf32>) -> tensor<512xf32>
      %max = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%in : tensor<512x1024xf32>) outs(%init : tensor<512xf32>) {
      ^bb0(%x: f32, %y: f32):
        %absolute = math.absf %x : f32
        %max = arith.maximumf %absolute, %y : f32
        linalg.yield %max : f32
      } -> tensor<512xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.iree.match.dim_is_multiple_of %ins[1], 512 : !transform.any_value""",
    "regions": """
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.iree.match.regions %op : !transform.any_op {
    ^bb0(%in: tensor<512x1024xf32>, %out: tensor<512xf32>):
      %max = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%in : tensor<512x1024xf32>) outs(%out : tensor<512xf32>) {
      ^bb0(%x: f32, %y: f32):
        %absolute = math.absf %x : f32
        %max = arith.maximumf %absolute, %y : f32
        linalg.yield %max : f32
      } -> tensor<512xf32>
    }""",
    "structured": f"""
    %inputs = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {{
    ^bb0(%it: !transform.any_op):
      transform.match.structured.dim %it[1] reduction {OP}
      %rank = transform.match.structured.rank %it : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.input %it[0] permutation {OP}
      transform.match.structured.init %it[0] projected_permutation {OP}
      transform.match.structured.yield %rank {SIZES}
    }}
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %inputs, %two {SIZES}
    %absolutes = transform.include @count_absolutes failures(propagate) (%op)
      : (!transform.any_op) -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi le %one, %absolutes {SIZES}""",
}
"""Matchers of which all conditions hold on an op of the program."""

HELPERS = f"""
  transform.named_sequence @is_a_matmul(%op: !transform.any_op {{transform.readonly}}) {{
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32
      {OP} -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [512] {SIZES}
    transform.yield
  }}
  transform.named_sequence @count_absolutes(%op: !transform.any_op {{transform.readonly}})
      -> !transform.param<i64> {{
    %found = transform.structured.match ops{{["math.absf"]}} in %op : (!transform.any_op) -> !transform.any_op
    %count = transform.num_associations %found : (!transform.any_op) -> !transform.param<i64>
    transform.yield %count {SIZES}
  }}"""

TABLE = """
contraction | lhs_type = f32 | lhs_type = f16 | element_type
    element type of lhs: f32, expected f16
contraction | output_type = f32 | output_type = f64 | element_type
    element type of output: f32, expected f64
contraction | (d2, d1) | (d1, d2) | map
    indexing map of rhs: (d0, d1, d2) -> (d2, d1), expected (d0, d1, d2) -> (d1, d2)
contraction | %k, [128] | %k, [256] | size
    size of k: 128, expected 256
contraction | %b, [] | %b, [4] | size
    sizes of batch: [], expected [4]
contraction | %m, [256] | %m, [2, 128] | size
    sizes of m: [256], expected [2, 128]
contraction | %n, [-1] | %n, [-1, 2] | size
    sizes of n: [512], expected [any, 2]
values | ?x128xf32 | ?x128xf16 | element_type
    type of operand 0: tensor<256x128xf32>, expected tensor<?x128xf16>
values | ?x128xf32 | ?x64xf32 | size
    type of operand 0: tensor<256x128xf32>, expected tensor<?x64xf32>
values | ?x128xf32 | ?x8x16xf32 | rank
    type of operand 0: tensor<256x128xf32>, expected tensor<?x8x16xf32>
values | %rhs[1], 64 | %rhs[1], 48 | divisibility
    dim 1 of operand 1: 512, expected a multiple of 48
values | %rhs[1], 64 | %rhs[2], 64 | rank
    rank of operand 1: 2, expected more than 2
values | umax = 128 | umax = 64 | bounds
    dim 0 of operand 1: 128, expected 64 to 64
values | umin = 16 | umin = 257 | bounds
    dim 0 of operand 0: 256, expected at least 257
values | linalg.fill | linalg.generic | name
    name of the producer of operand 2: linalg.fill, expected linalg.generic
values | operand %op[0] | operand %op[3] | operands
    number of operands of the op: 3, expected more than 3
helper | @is_a_matmul | @is_a_larger_matmul | size
    size of n: 512, expected 1024
body | arith.addf | arith.maximumf | body
    body: arith.mulf, arith.addf, expected arith.mulf, arith.maximumf
convolution | %strides, [2, 2] | %strides, [1, 1] | strides
    strides: [2, 2], expected [1, 1]
convolution | %dilations, [1, 1] | %dilations, [1, 2] | dilations
    dilations: [1, 1], expected [1, 2]
convolution | %image, [28, 28] | %image, [28, 56] | size
    sizes of output image: [28, 28], expected [28, 56]
convolution | %ic, [16] | %ic, [3] | size
    size of input channel: 16, expected 3
convolution | rhs_type = f32 | rhs_type = bf16 | element_type
    element type of rhs: f32, expected bf16
attention | query_type = f32 | query_type = f16 | element_type
    element type of query: f32, expected f16
attention | (b, k2, k1) | (b, k1, k2) | map
    indexing map of key: (d0, d1, d2, d3, d4) -> (d0, d4, d3), expected (d0, d1, d2, d3, d4) -> (d0, d3, d4)
attention | %k2, [128] | %k2, [64] | size
    size of k2: 128, expected 64
dag | maximumf %abs | addf %abs | body
    body of linalg.generic: %3: f32 = arith.maximumf %2, %1 {fastmath = #arith.fastmath<none>}, \
expected %3: f32 = arith.addf %2, %1 {fastmath = #arith.fastmath<none>}
dag | %absolute, %y : f32 | %y, %absolute : f32 | body
    body of linalg.generic: %3: f32 = arith.maximumf %2, %1 {fastmath = #arith.fastmath<none>}, \
expected %3: f32 = arith.maximumf %1, %2 {fastmath = #arith.fastmath<none>}
dag | absf %x : f32 | absf %x fastmath<nnan> : f32 | body
    body of linalg.generic: %2: f32 = math.absf %0 {fastmath = #arith.fastmath<none>}, \
expected %2: f32 = math.absf %0 {fastmath = #arith.fastmath<nnan>}
dag | constant 1.0 | constant 2.0 | constant
    value of arith.constant at operand 1 -> 0: 1.000000e+00 : f32, expected 2.000000e+00 : f32
dag | linalg.fill ins(%one : f32) outs(%empty : tensor<512xf32>) -> | tensor.splat %one : | name
    op at operand 1: linalg.fill, expected tensor.splat
dag | 512x1024 | 512x2048 | size | 2
    type of operand 0 of linalg.generic: tensor<512x1024xf32>, expected tensor<512x2048xf32>
dag | "reduction" | "parallel" | iterator
    iterator of loop 1 of linalg.generic: reduction, expected parallel
dag | %ins[1], 512 | %ins[1], 768 | divisibility
    dim 1 of input 0: 1024, expected a multiple of 768
regions | absf | ceil | body
    body of linalg.generic: %2: f32 = math.absf %0 {fastmath = #arith.fastmath<none>}, \
expected %2: f32 = math.ceil %0 {fastmath = #arith.fastmath<none>}
structured | [1] reduction | [-2] reduction | iterator
    iterator of loop 0: parallel, expected reduction
structured | [1] reduction | [2] reduction | rank
    number of loops: 2, expected more than 2
structured | constant 2 : | constant 3 : | rank
    number of loops: 2, expected 3
structured | projected_permutation | permutation | map
    indexing map of init 0: (d0, d1) -> (d0), expected a permutation
structured | input %it[0] | input %it[1] | operands
    number of inputs: 1, expected more than 1
structured | constant 1 : | constant 4 : | body
    number of math.absf: 1, expected at least 4
"""
"""For each case: base | what is replaced | by what | kind of reason | how often it is there; the reason."""


@dataclass(frozen=True)
class Case:
    """A matcher that differs in one condition from one that hits, and what is said of it."""

    base: str
    matcher: str
    kind: str
    reason: str


def cases() -> list[Case]:
    """The cases of the table; what is replaced has to be there as often as it says."""
    lines = TABLE.strip().splitlines()
    found: list[Case] = []
    for line, reason in zip(lines[::2], lines[1::2], strict=True):
        base, old, new, kind, *times = line.split(" | ")
        assert BASES[base].count(old) == int((times or ["1"])[0]), line
        found.append(Case(base, BASES[base].replace(old, new), kind, reason.strip()))
    return found


def matcher(name: str, body: str) -> str:
    return f"""
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> !transform.any_op {{{body}
    transform.yield %op : !transform.any_op
  }}"""


def spec_of(matchers: dict[str, str], helpers: str = "") -> str:
    """A spec that puts a mark on what its matchers match."""
    named = "".join(matcher(name, body) for name, body in matchers.items())
    pairs = ", ".join(f"@{name} -> @mark" for name in matchers)
    return f"""module @near attributes {{transform.with_named_sequence}} {{{helpers}{named}
  transform.named_sequence @mark(%op: !transform.any_op {{transform.readonly}}) {{
    transform.annotate %op "marked" : !transform.any_op
    transform.yield
  }}
  transform.named_sequence @__kernel_config(%all: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all {pairs} : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
"""
