"""Numbers that a program finds out as it runs: positions, factors, steps of loops, others' sizes."""

import pytest
from amounts import some

from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program

FILL = """
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x32xf32>) -> tensor<4x32xf32>
"""

CLAMPED = """
func.func @main(%rows: tensor<16x64xf32>, %w: tensor<64x32xf32>, %pos: tensor<i32>) -> tensor<1x32xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.dynamic_slice %rows, %pos, %z, sizes = [1, 64]
    : (tensor<16x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
  %y = stablehlo.dot %x, %w : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  return %y : tensor<1x32xf32>
}
"""
CACHE = """
func.func @main(%cache: tensor<64x32xf16>, %row: tensor<1x128xf16>, %w: tensor<128x32xf16>, %pos: tensor<i64>)
    -> tensor<64x32xf16> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %y = stablehlo.dot %row, %w : (tensor<1x128xf16>, tensor<128x32xf16>) -> tensor<1x32xf16>
  %r = stablehlo.dynamic_update_slice %cache, %y, %pos, %z
    : (tensor<64x32xf16>, tensor<1x32xf16>, tensor<i64>, tensor<i64>) -> tensor<64x32xf16>
  return %r : tensor<64x32xf16>
}
"""
TORCH = """
func.func @main(%rows: !torch.vtensor<[16,64],f32>, %w: !torch.vtensor<[64,32],f32>,
    %pos: !torch.vtensor<[],si64>) -> !torch.vtensor<[1,32],f32> {
  %c0 = torch.constant.int 0
  %i = torch.aten.Int.Tensor %pos : !torch.vtensor<[],si64> -> !torch.int
  %x = torch.aten.select.int %rows, %c0, %i
    : !torch.vtensor<[16,64],f32>, !torch.int, !torch.int -> !torch.vtensor<[64],f32>
  %u = torch.aten.unsqueeze %x, %c0 : !torch.vtensor<[64],f32>, !torch.int -> !torch.vtensor<[1,64],f32>
  %y = torch.aten.matmul %u, %w
    : !torch.vtensor<[1,64],f32>, !torch.vtensor<[64,32],f32> -> !torch.vtensor<[1,32],f32>
  return %y : !torch.vtensor<[1,32],f32>
}
"""


def linalg(rows: int, position: str = "%p") -> str:
    """Four rows of a table, from a position, times a matrix; nothing limits the position."""
    return f"""
func.func @main(%table: tensor<{rows}x64xf32>, %w: tensor<64x32xf32>, %p: index) -> tensor<4x32xf32> {{
  {FILL}
  %c1 = arith.constant 1 : index
  %next = arith.subi %p, %c1 : index
  %x = tensor.extract_slice %table[{position}, 0] [4, 64] [1, 1] : tensor<{rows}x64xf32> to tensor<4x64xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x64xf32>, tensor<64x32xf32>) outs(%init : tensor<4x32xf32>)
    -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}}
"""


LOOP = """
func.func @main(%rows: tensor<16x4x64xf32>, %w: tensor<64x64xf32>, %x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %r = scf.for %i = %c0 to %c16 step %c1 iter_args(%a = %x) -> tensor<4x64xf32> {
    %s = tensor.extract_slice %rows[%i, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<16x4x64xf32> to tensor<4x64xf32>
    %m = arith.addf %s, %a : tensor<4x64xf32>
    scf.yield %m : tensor<4x64xf32>
  }
  return %r : tensor<4x64xf32>
}
"""
FACTOR = """
func.func @main(%n: tensor<i32>, %x: tensor<32x48xi32>) -> tensor<32x48xi32> {
  %k = tensor.extract %n[] : tensor<i32>
  %e = tensor.empty() : tensor<32x48xi32>
  %t = linalg.fill ins(%k : i32) outs(%e : tensor<32x48xi32>) -> tensor<32x48xi32>
  %r = arith.muli %x, %t : tensor<32x48xi32>
  return %r : tensor<32x48xi32>
}
"""
COMPUTED_SIZE = """
func.func @main(%n: i32, %x: tensor<8xf32>) -> tensor<?x8xf32> {
  %i = arith.index_cast %n : i32 to index
  %e = tensor.empty(%i) : tensor<?x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %a : f32
    linalg.yield %y : f32
  } -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""
POSITION_AND_SIZE = """
func.func @main(%rows: tensor<16x?xf32>, %pos: tensor<i32>) -> tensor<1x?xf32> {
  %one = arith.constant 1 : index
  %d = tensor.dim %rows, %one : tensor<16x?xf32>
  %p = tensor.extract %pos[] : tensor<i32>
  %i = arith.index_cast %p : i32 to index
  %x = tensor.extract_slice %rows[%i, 0] [1, %d] [1, 1] : tensor<16x?xf32> to tensor<1x?xf32>
  %y = arith.addf %x, %x : tensor<1x?xf32>
  return %y : tensor<1x?xf32>
}
"""

HLO_BESIDE = """
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x32xf32>, %c: tensor<?xf32>)
    -> (tensor<1x32xf32>, tensor<?xf32>) {
  %y = stablehlo.dot %a, %w : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %d = stablehlo.add %c, %c : tensor<?xf32>
  return %y, %d : tensor<1x32xf32>, tensor<?xf32>
}
"""
LINALG_BESIDE = f"""
func.func @main(%a: tensor<4x64xf16>, %w: tensor<64x32xf16>, %c: tensor<?x?xi32>)
    -> (tensor<4x32xf32>, tensor<?x?xi32>) {{
  {FILL}
  %r = linalg.matmul ins(%a, %w : tensor<4x64xf16>, tensor<64x32xf16>) outs(%init : tensor<4x32xf32>)
    -> tensor<4x32xf32>
  %d = arith.addi %c, %c : tensor<?x?xi32>
  return %r, %d : tensor<4x32xf32>, tensor<?x?xi32>
}}
"""
TORCH_BESIDE = """
func.func @main(%a: !torch.vtensor<[4,64],f32>, %w: !torch.vtensor<[64,32],f32>,
    %c: !torch.vtensor<[?,8],f32>) -> (!torch.vtensor<[4,32],f32>, !torch.vtensor<[?,8],f32>) {
  %y = torch.aten.matmul %a, %w
    : !torch.vtensor<[4,64],f32>, !torch.vtensor<[64,32],f32> -> !torch.vtensor<[4,32],f32>
  %d = torch.aten.tanh %c : !torch.vtensor<[?,8],f32> -> !torch.vtensor<[?,8],f32>
  return %y, %d : !torch.vtensor<[4,32],f32>, !torch.vtensor<[?,8],f32>
}
"""
ROW_OF_AN_OPEN_TABLE = """
func.func @main(%rows: tensor<?x64xf32>, %pos: index) -> tensor<64xf32> {
  %x = tensor.extract_slice %rows[%pos, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
  %y = arith.addf %x, %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
"""


@pytest.fixture
def read(cpu, reading):
    """The dispatches of a program that is given sizes."""

    def find(text, *sizes):
        return extract(sized(load_program(text), sizes), cpu, reading(text)).dispatches

    return find


KNOWN = [
    (CLAMPED, [(32, 64)]),
    (CACHE, [(32, 128), (32,)]),
    (linalg(16), [(4, 32, 64)]),
    (linalg(6), [(4, 32, 64)]),
    (linalg(4), [(4, 32, 64)]),
    (linalg(12, "%next"), [(4, 32, 64)]),
    (LOOP, [(4, 64)]),
    (FACTOR, [(1536,)]),
]
TOGETHER = "".join(program.replace("@main", f"@f{number}") for number, (program, _) in enumerate(KNOWN))


@pytest.mark.parametrize(
    ("program", "loops"), [(TOGETHER, [each for _, loops in KNOWN for each in loops]), (TORCH, [(1, 32, 64)])]
)
def test_a_dispatch_whose_sizes_are_all_known_can_be_tuned(read, program, loops):
    found = read(program)
    assert [each.reason for each in found] == [""] * len(loops)
    assert [each.workload.loops for each in found] == loops
    assert all(each.tunable for each in found)


@pytest.fixture(scope="module")
def measurer():
    found = Measurer("local-task")
    yield found
    found.close()


@pytest.mark.parametrize(
    "program", some([CLAMPED, linalg(16), TORCH, linalg(16, "%next"), linalg(6), linalg(4)], 3)
)
def test_rows_are_read_at_a_position_within_the_table(read, cpu, compilers, measurer, program):
    """The harness runs, and stays within its tensors: each of them has the whole table."""
    (dispatch,) = read(program)
    default = Builder(cpu, compilers).build(dispatch.harness, None)
    bench = Bench(
        dispatch.harness, "local-task", default.vmfb, Tolerance("f32", dispatch.workload.reduction_length)
    )
    assert default.outcome == "ok"
    timed = measurer.time_default(bench, checked=True)
    assert (timed.outcome, timed.message) == ("ok", "")


def test_a_size_that_the_program_computes_is_not_chosen_here(read):
    values = COMPUTED_SIZE.replace("%n: i32,", "%v: tensor<4xi32>,").replace(
        "  %i = arith",
        "  %k = arith.constant 2 : index\n  %n = tensor.extract %v[%k] : tensor<4xi32>\n  %i = arith",
    )
    (dispatch,) = read(values)
    assert not dispatch.tunable
    assert dispatch.reason == "loop 0 is dynamic, computed while the program runs"


@pytest.mark.parametrize("kind", ["i32", "tensor<i32>"])
def test_a_size_that_is_an_input_is_set(read, kind):
    program = COMPUTED_SIZE
    if kind != "i32":
        program = program.replace("%n: i32", "%t: tensor<i32>").replace(
            "  %i = arith", "  %n = tensor.extract %t[] : tensor<i32>\n  %i = arith"
        )
    (dispatch,) = read(program)
    assert dispatch.reason == "loop 0 is dynamic: set it with --dim 128"
    for option in ("24", "0=24"):
        (dispatch,) = read(program, option)
        assert dispatch.workload.loops == (24, 8)


def test_a_position_in_a_dispatch_with_an_open_size(read):
    (dispatch,) = read(POSITION_AND_SIZE)
    assert dispatch.reason == "loop 0 is dynamic: set it with --dim 128"
    (dispatch,) = read(POSITION_AND_SIZE, "24")
    assert dispatch.tunable
    assert dispatch.workload.loops == (24,)


@pytest.mark.parametrize("program", some([LINALG_BESIDE, HLO_BESIDE, TORCH_BESIDE], 3))
def test_an_open_size_elsewhere_keeps_no_dispatch_from_being_tuned(read, program):
    known, unknown = sorted(read(program), key=lambda each: not each.tunable)
    assert known.tunable
    assert not known.workload.dynamic
    assert not unknown.tunable
    assert unknown.reason.startswith("loop 0")
    assert unknown.reason.endswith("is dynamic: set it with --dim 128")
    assert all(each.tunable for each in read(program, "12"))


def test_the_size_that_is_missing_always_has_a_name(read):
    (dispatch,) = read(ROW_OF_AN_OPEN_TABLE)
    assert dispatch.reason == "an input's size is dynamic: set it with --dim 128"
    (dispatch,) = read(ROW_OF_AN_OPEN_TABLE, "20")
    assert dispatch.workload.loops == (64,)


SCALAR = """
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %r = arith.mulf %a, %b : tensor<f32>
  return %r : tensor<f32>
}
"""
HLO_SCALAR = """
func.func @main(%a: tensor<i32>) -> (tensor<i32>, tensor<i1>) {
  %r = stablehlo.multiply %a, %a : tensor<i32>
  %c = stablehlo.compare GT, %r, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %r, %c : tensor<i32>, tensor<i1>
}
"""
TORCH_SCALAR = """
func.func @main(%a: !torch.vtensor<[],f64>) -> !torch.vtensor<[],f64> {
  %y = torch.aten.exp %a : !torch.vtensor<[],f64> -> !torch.vtensor<[],f64>
  return %y : !torch.vtensor<[],f64>
}
"""


@pytest.mark.parametrize(
    "program", [*some([SCALAR, SCALAR.replace("f32", "f16")], 2), HLO_SCALAR, TORCH_SCALAR]
)
def test_numbers_without_dimensions_leave_nothing_to_tune(read, program):
    assert {each.reason for each in read(program)} == {"it has no loops: there is nothing to tile"}


SUM_AND_SCALE = """
func.func @main(%x: tensor<512xf32>, %s: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<512xf32>, tensor<f32>) -> tensor<f32>
  %root = stablehlo.sqrt %sum : tensor<f32>
  %r = stablehlo.multiply %root, %s : tensor<f32>
  return %r : tensor<f32>
}
"""


def test_other_dispatches_of_such_a_program_are_tuned(read):
    first, second = read(SUM_AND_SCALE)
    assert first.tunable
    assert first.workload.loops == (512,)
    assert second.reason == "it has no loops: there is nothing to tile"
