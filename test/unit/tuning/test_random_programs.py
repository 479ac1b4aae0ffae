"""Random small programs through `tune`: a result or one clear line, whatever a program consists of."""

import pytest
from amounts import ALL, amount
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tuning.random_programs import DYNAMIC_SIZE, random_program
from tuning.tuned import BLAMED, tuned

from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab


@pytest.fixture(scope="module")
def lab():
    """The workers of all runs: they start once."""
    with Lab(target_for_device("local-task"), 1) as found:
        yield found


def check(text, dynamic, lab, folder):
    """What holds for every program."""
    status, records, told = tuned(text, lab, folder, *(("--dim", str(DYNAMIC_SIZE)) if dynamic else ()))
    errors = [line for line in told if line.startswith("error: ")]
    assert status in (0, 1), "\n".join([*told, text])
    assert len(errors) == status, "\n".join([*told, text])
    assert not any("Traceback" in line for line in told)
    assert not BLAMED.search("\n".join(told)), "\n".join([*told, text])
    for record in records:
        values = [record[key] for key in ("verdict", "speedup", "interval")]
        assert values.count(None) in (0, 3)
        assert None not in values or record["note"]


DOT = """
func.func @main(ARGUMENTS%x: tensor<4x64xKIND>, %w: tensor<64x32xKIND>) -> tensor<4x32xKIND> {
  %y = stablehlo.dot %x, %w : (tensor<4x64xKIND>, tensor<64x32xKIND>) -> tensor<4x32xKIND>
  return %y : tensor<4x32xKIND>
}
"""
UNUSED = DOT.replace("KIND", "f32").replace("ARGUMENTS", "%n: tensor<?x2xi32>, ")
PACKED = """
func.func @main(%a: tensor<ROWSxCOLUMNSxKIND>) -> tensor<COLUMNSxROWSxKIND> {
  %0 = stablehlo.convert %a : (tensor<ROWSxCOLUMNSxKIND>) -> tensor<ROWSxCOLUMNSxi4>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<ROWSxCOLUMNSxi4>) -> tensor<COLUMNSxROWSxi4>
  %2 = stablehlo.convert %1 : (tensor<COLUMNSxROWSxi4>) -> tensor<COLUMNSxROWSxKIND>
  return %2 : tensor<COLUMNSxROWSxKIND>
}
"""
TRUNCATED = """
func.func @main(%a: tensor<30x14xi32>) -> tensor<14x30xi32> {
  %0 = arith.trunci %a : tensor<30x14xi32> to tensor<30x14xi4>
  %e = tensor.empty() : tensor<14x30xi4>
  %1 = linalg.transpose ins(%0 : tensor<30x14xi4>) outs(%e : tensor<14x30xi4>) permutation = [1, 0]
  %2 = arith.extsi %1 : tensor<14x30xi4> to tensor<14x30xi32>
  return %2 : tensor<14x30xi32>
}
"""
DECLARED = """
func.func private @elsewhere(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = arith.addf %x, %x : tensor<4x8xf32>
  %z = call @elsewhere(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
"""
UNTIL = """
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %r = scf.while (%x = %a) : (tensor<f32>) -> tensor<f32> {
    %v = tensor.extract %x[] : tensor<f32>
    %one = arith.constant 0.01 : f32
    %c = arith.cmpf ogt, %v, %one : f32
    scf.condition(%c) %x : tensor<f32>
  } do {
  ^bb0(%x: tensor<f32>):
    %h = arith.constant dense<0.5> : tensor<f32>
    %y = arith.mulf %x, %h : tensor<f32>
    scf.yield %y : tensor<f32>
  }
  return %r : tensor<f32>
}
"""
SCALAR = """
func.func @main(%a: tensor<KIND>, %b: tensor<KIND>) -> tensor<KIND> {
  %r = stablehlo.multiply %a, %b : tensor<KIND>
  return %r : tensor<KIND>
}
"""
SUM = """
func.func @main(%x: tensor<16x48xKIND>) -> tensor<KIND> {
  %zero = stablehlo.constant dense<ZERO> : tensor<KIND>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 1]
    : (tensor<16x48xKIND>, tensor<KIND>) -> tensor<KIND>
  return %r : tensor<KIND>
}
"""
UNCLEAR = """
func.func @main(%n: tensor<?x2xi32>, %x: tensor<16x48xf32>, %i: tensor<4xi32>) -> tensor<4x48xf32> {
  %mask = arith.constant dense<12> : tensor<4xi32>
  %j = arith.xori %i, %mask : tensor<4xi32>
  %e = tensor.empty() : tensor<4x48xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%j : tensor<4xi32>) outs(%e : tensor<4x48xf32>) {
  ^bb0(%at: i32, %o: f32):
    %row = arith.index_cast %at : i32 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %x[%row, %column] : tensor<16x48xf32>
    linalg.yield %v : f32
  } -> tensor<4x48xf32>
  return %r : tensor<4x48xf32>
}
"""
FAILS = "the program does not compile, with or without a spec: "
NOTHING = "the program has no dispatches that can be tuned: "
NO_LOOPS = f"{NOTHING}it has no loops: there is nothing to tile"


def packed(rows: int, columns: int, kind: str) -> str:
    """A transposition of four-bit integers, whose code generation fails for sizes that are no whole bytes."""
    return PACKED.replace("ROWS", str(rows)).replace("COLUMNS", str(columns)).replace("KIND", kind)


def variant(*values):
    """A case that goes the way of another one."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (packed(42, 13, "i8"), FAILS),
        variant(packed(21, 10, "i8"), FAILS),
        variant(TRUNCATED, FAILS),
        (DECLARED, "must reference a function in a module"),
        (UNTIL, NO_LOOPS),
        variant(SCALAR.replace("KIND", "f32"), NO_LOOPS),
        variant(SCALAR.replace("KIND", "i64"), NO_LOOPS),
        (SCALAR.replace("KIND", "complex<f32>"), NO_LOOPS),
        ("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }", NOTHING),
    ],
)
def test_a_program_is_refused_in_one_line(program, says, lab, tmp_path):
    status, records, told = tuned(program, lab, tmp_path)
    assert status == 1
    assert says in told[-1]
    for record in records:  # nothing to tune is an answer, too
        assert says.startswith(NOTHING)
        assert (record["workloads"], record["verdict"], record["spec"]) == (0, None, None)
        assert record["note"] in told[-1]
    assert len(records) == says.startswith(NOTHING)
    assert told[-1].startswith("error: ")
    assert not (tmp_path / "p.spec.mlir").exists()


@pytest.mark.exhaustive  # test_the_note_says_that_indices_are_unclear has such a run
@pytest.mark.parametrize(
    ("program", "options"),
    [
        (UNUSED, ("--dim", "4")),
        (UNUSED, ()),
        (DOT.replace("KIND", "f16").replace("ARGUMENTS", ""), ()),
        (SUM.replace("KIND", "f32").replace("ZERO", "0.0"), ()),
        (SUM.replace("KIND", "i32").replace("ZERO", "0"), ()),
    ],
)
def test_a_program_is_tuned(program, options, lab, tmp_path):
    status, records, told = tuned(program, lab, tmp_path, *options, wins=False)
    assert status == 0, told
    assert records[-1]["workloads"] == 1
    assert (tmp_path / "p.spec.mlir").exists()


def test_the_note_says_that_indices_are_unclear(lab, tmp_path):
    """Of a program with an input that it does not use, which has any size."""
    status, records, told = tuned(UNCLEAR, lab, tmp_path, "--dim", "4", wins=False)
    assert status == 0, told
    assert records[-1]["workloads"] == 1
    assert (tmp_path / "p.spec.mlir").exists()
    assert "generated inputs may be invalid: indices depend on arith.xori" in records[-1]["note"]
    assert not BLAMED.search("\n".join(told))


@settings(
    max_examples=amount(1, 500), deadline=None, derandomize=not ALL, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)  # fmt: skip
@given(seed=st.integers(0, 2**32 - 1))
def test_any_program_is_tuned_or_refused(seed, lab, tmp_path_factory):
    program = random_program(seed)
    check(program.text, program.dynamic, lab, tmp_path_factory.getbasetemp())
