"""A wrong entry is found where the program uses it, and costs the others nothing."""

from pathlib import Path

import pytest

from iree_tuner.device.program_request import request
from iree_tuner.errors import TunerError
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program, load_program
from iree_tuner.space.build import build_space
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.faults import begin_entry_check, functions_run, not_checked
from iree_tuner.tuning.lab import Lab

ATTENTION = Path(__file__).parents[3] / "programs" / "ops" / "cpu_attention.mlir"


PRODUCT = """
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x128x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x128x24xf32>) -> tensor<4x128x24xf32>
  %p = linalg.batch_matmul ins(%r, %w : tensor<4x128x64xf32>, tensor<4x64x24xf32>)
      outs(%init : tensor<4x128x24xf32>) -> tensor<4x128x24xf32>
  return %p : tensor<4x128x24xf32>
"""


def with_product(text):
    """The attention's program, whose result is also multiplied by matrices."""
    text = text.replace(
        ") -> tensor<4x128x64xf32> {", ", %w: tensor<4x64x24xf32>) -> tensor<4x128x24xf32> {", 1
    )
    return text.replace("  return %r : tensor<4x128x64xf32>\n", PRODUCT.lstrip("\n"))


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device("local-task", "host"), 1) as found:
        yield found


def test_a_wrong_entry_is_found_and_the_right_one_stays(lab, tmp_path):
    path = tmp_path / "whole.mlir"
    path.write_text(with_product(ATTENTION.read_text()))
    program = load_program(path)
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    entries = {}
    for dispatch in dispatches:
        if dispatch.workload is None:
            continue
        space = build_space(dispatch.workload, dispatch.limits, lab.context)
        (member,) = space.sample(1, seed=0)
        if dispatch.workload.family == "attention":  # the compiler takes this, and gets it wrong
            (k1,) = dispatch.workload.role("k1")
            member = {**member, f"vector_{k1}": dispatch.workload.loops[k1] // 2}
        entries[dispatch.workload.family] = SpecEntry(dispatch.workload, space.configuration(member))
    assert entries.keys() == {"attention", "contraction"}
    found = begin_entry_check(list(entries.values()), program, request(program), dispatches, lab)(
        float("inf"), True
    )
    assert list(found.wrong) == [entries["attention"]]
    assert not found.uncompared
    assert not found.judged.own
    (note,) = found.notes
    assert note.startswith("left out, because ")
    assert "computes wrong results with it: attention_" in note
    assert len(found.judged.moves) == 3
    assert all(0 < move.typical < move.largest < 1e-3 for (move,) in found.judged.moves)


def check_of(text, lab, functions=()):
    """The findings about a configuration of each product of a program."""
    program = Program("program.mlir", text.encode())
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    products = [each for each in dispatches if each.workload and each.workload.family == "contraction"]
    entries = {}
    for each in products:
        space = build_space(each.workload, each.limits, lab.context)
        (member,) = space.sample(1, seed=0)
        entries[each.workload] = SpecEntry(each.workload, space.configuration(member))
    found = begin_entry_check(list(entries.values()), program, request(program, functions), dispatches, lab)(
        float("inf"), True
    )
    return found, {each.name for each in products}


IN_BRANCH = """
func.func @NAME(%a: tensor<8x64xf32>, %w: tensor<64x32xf32>, %n: i32) -> tensor<8x32xf32> {
  %most = arith.constant LIMIT : i32
  %p = arith.cmpi slt, %n, %most : i32
  %r = scf.if %p -> tensor<8x32xf32> {
    %y = stablehlo.dot %a, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    scf.yield %y : tensor<8x32xf32>
  } else {
    %k = stablehlo.constant dense<1.5> : tensor<8x32xf32>
    scf.yield %k : tensor<8x32xf32>
  }
  return %r : tensor<8x32xf32>
}
"""


def in_branch(name, limit):
    """A function whose product is reached by numbers below a limit."""
    return IN_BRANCH.replace("NAME", name).replace("LIMIT", str(limit))


def test_a_product_in_a_branch_is_checked_where_the_branch_is_taken(lab):
    """One note names a product that no input leads to."""
    other = in_branch("never", -5).replace("x32x", "x48x")
    found, names = check_of(in_branch("taken", 2) + other, lab)
    (name,) = (each for each in names if each.startswith("never"))
    assert len(names) == 2
    assert set(found.judged.compared) == names - {name}
    assert found.notes == (
        f"not compared in the program: {name} (the first pass with generated inputs does not lead there); "
        "only the comparison of the whole program covers them",
    )


TWO = """
util.global private mutable @kept = dense<0.0> : tensor<8x64xf32>
func.func @first(%a: tensor<8x32xf32>, %w: tensor<32x64xf32>) {
  %y = stablehlo.dot %a, %w : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  util.global.store %y, @kept : tensor<8x64xf32>
  return
}
func.func @second(%w: tensor<64x16xf32>) -> tensor<8x16xf32> {
  %x = util.global.load @kept : tensor<8x64xf32>
  %y = stablehlo.dot %x, %w : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
func.func @of_any_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = stablehlo.add %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


def test_products_of_all_functions_are_checked(lab):
    found, names = check_of(TWO, lab)
    assert set(found.judged.compared) == names
    assert len(names) == 2
    assert not found.notes
    assert all(len(each) == 1 and each[0].typical > 0 for each in found.judged.moves)


def test_functions_without_inputs_are_left_out():
    assert functions_run(request(Program("two.mlir", TWO.encode()))) == ("first", "second")


BESIDE = """
func.func @main(%a: tensor<8x64xf32>, %w: tensor<64x32xf32>, %c: tensor<?x64x16xf32>)
    -> (tensor<8x32xf32>, tensor<16x32xf32>) {
  %y = stablehlo.dot %a, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?x64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %d = stablehlo.dot %t, %w : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  return %y, %d : tensor<8x32xf32>, tensor<16x32xf32>
}
"""


def test_a_product_is_checked_where_the_size_of_another_is_not_set(lab):
    found, names = check_of(BESIDE, lab)
    (uncompared,) = names - {*found.judged.compared}
    assert len(names) == 2
    assert found.notes == (
        f"not compared in the program: {uncompared} "
        "(input 2 (?x64x16xf32) has dynamic sizes: set them with --dim 128)",
    )


UNCLEAR = """
func.func @main(%a: tensor<8x64xf32>, %w: tensor<64x32xf32>, %i: tensor<8xi32>) -> tensor<8x32xf32> {
  %mask = stablehlo.constant dense<12> : tensor<8xi32>
  %j = stablehlo.xor %i, %mask : tensor<8xi32>
  %e = tensor.empty() : tensor<8x64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%j : tensor<8xi32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%at: i32, %o: f32):
    %row = arith.index_cast %at : i32 to index
    %column = linalg.index 1 : index
    %x = tensor.extract %a[%row, %column] : tensor<8x64xf32>
    linalg.yield %x : f32
  } -> tensor<8x64xf32>
  %y = stablehlo.dot %g, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
"""


def test_where_indices_are_unclear_the_compiler_is_not_blamed(lab):
    found, _ = check_of(UNCLEAR, lab)
    assert found.run.unclear == ("arith.xori",)
    assert found.judged.own, "rows outside of the table are read"
    blames = [each for each in found.notes if "uninitialized" in each]
    assert blames[-1].startswith("generated inputs may be invalid, or by default, ")
    assert all("generated inputs may be invalid, or " in each for each in blames), blames


def test_the_note_about_a_program_that_is_not_taken_apart():
    error = TunerError("no dispatch of @main can be called by itself: it has none")
    assert not_checked(error) == (
        "dispatches in the program: not checked: no dispatch of @main can be called by itself: it has none; "
        "only the comparison of the whole program covers them"
    )
