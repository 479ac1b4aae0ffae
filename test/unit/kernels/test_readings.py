"""Reads at positions that a body computes become moves, and kernels read through these.

`reading_programs` are what JAX exports of paddings by mirrored edges, flips, rolls and gathers at constant
positions, and iree-turbine of PyTorch's `pad` and `interpolate`.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from after_abi import HOST, results, results_of_all, session
from iree.compiler import ir
from kernels.numpy_triton import written

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.readings import build_moves, find_readings, reading_of
from iree_tuner.kernels.site import program_of
from iree_tuner.kernels.source import chains_in, outlook_of
from iree_tuner.kernels.spec import bring_into_form, rewrite_readings, save_kernel_spec
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.program.phases import select_target
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

FOLDER = Path(__file__).parent / "reading_programs"
ONE_KERNEL = {
    "symmetric": 9, "reflected": 2, "rolled": 4, "taken": 6, "torch_reflected": 9, "torch_nearest": 1,
}  # fmt: skip
"""Programs that are one kernel, with the number of places that it reads its input at."""

SAVED = {"symmetric": (12, 1), "reflected": (4, 1)}
"""Dispatches and copies before and after."""


@cache
def text_of(name: str) -> str:
    return (FOLDER / f"{name}.mlir").read_text()


def given_to(text: str) -> list[np.ndarray]:
    signature = text.partition("@main(")[2].partition("->")[0]
    ((sizes, other),) = re.findall(r"tensor<(?:([\dx]+)xf16|\[([\d,]+)\],f16)>", signature)
    shape = [*map(int, sizes.split("x") if sizes else other.split(","))]
    return [np.random.default_rng(1).standard_normal(shape).astype(np.float16)]


def moved(case: bytes) -> bytes:
    """A program with what a reading is rewritten as."""
    own = session()
    with own.context, ir.Location.unknown():
        module = own.parse(case)
        (reading,) = (found for op in walk(module.operation) if (found := reading_of(op)) is not None)
        return program_of([reading.array], reading.op.result.type,
                          lambda function: build_moves(reading, function.arguments[0]))  # fmt: skip


def readings_in(text: str) -> tuple[bytes, ...]:
    own = session()
    with own.context, ir.Location.unknown():
        module = own.parse(text)
        own.run(module, stop="abi")
        bring_into_form(module)
        return find_readings(module)


def same_when_moved(cases) -> None:
    given = [given_to(case.decode()) for case in cases]
    found = results_of_all(
        [each for case in cases for each in (case, moved(case))], [each for each in given for _ in range(2)]
    )
    for (ours,), (theirs,) in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_moves_read_the_same() -> None:
    """Of all programs: identities, reversals, repetitions, several parts."""
    cases = [case for each in sorted(FOLDER.glob("*.mlir")) for case in readings_in(each.read_text())]
    assert len(cases) >= 8
    same_when_moved(cases)


def body_reads(shape, result, body: str, positions: str) -> str:
    kind, made = (f"tensor<{'x'.join(map(str, each))}xf16>" for each in (shape, result))
    loops = ", ".join(f"d{each}" for each in range(len(result)))
    kinds = ", ".join(['"parallel"'] * len(result))
    return f"""func.func @main(%x: {kind}) -> {made} {{
      %empty = tensor.empty() : {made}
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c7 = arith.constant 7 : index
      %table = arith.constant dense<[5, 5, 5, 1, 3, 5, 7, 0]> : tensor<8xi32>
      %r = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>], iterator_types = [{kinds}]}}
          outs(%empty : {made}) {{
      ^bb0(%out: f16):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        {body}
        %e = tensor.extract %x[{positions}] : {kind}
        linalg.yield %e : f16
      }} -> {made}
      return %r : {made}
    }}"""


@pytest.mark.parametrize(
    ("shape", "result", "body", "positions"),
    [
        ((8, 8), (8, 8), "%k = arith.subi %c7, %i : index", "%j, %k"),  # transposed, and reversed
        ((8, 8), (4, 5), "%k = arith.muli %c2, %i : index", "%k, %c2"),  # one column in all
        ((4, 3), (8, 3), "%k = arith.divsi %i, %c2 : index", "%k, %j"),
        ((8, 3), (8, 3), "%t = tensor.extract %table[%i] : tensor<8xi32>\n"
         "%k = arith.index_cast %t : i32 to index", "%k, %j"),  # repeated, in steps, and one more
        ((8, 8, 3), (8, 3), "%k = arith.subi %c7, %i : index", "%k, %c2, %j"),  # of one dimension less
    ],
)  # fmt: skip
def test_other_positions(shape, result, body: str, positions: str) -> None:
    (case,) = readings_in(body_reads(shape, result, body, positions))
    same_when_moved([case])


@pytest.mark.parametrize(
    ("shape", "body", "positions"),
    [
        ((8, 8), "", "%i, %i"),  # a diagonal
        ((8, 8), "%k = arith.addi %i, %j : index\n%l = arith.minsi %k, %c7 : index", "%l, %j"),
        ((8,), "%k = arith.addi %i, %c2 : index", "%k"),  # past the end
    ],
)
def test_no_moves_read_at_positions_of_several_loops(shape, body: str, positions: str) -> None:
    assert not readings_in(body_reads(shape, (8, 8), body, positions))


def test_other_loops_do_not_match() -> None:
    """The bodies of two readings differ only in the numbers of loops."""
    texts = [
        body_reads((8, 8), (8, 8), "%k = arith.subi %c7, %i : index", positions)
        for positions in ("%k, %j", "%j, %k")
    ]
    (one,), (other,) = map(readings_in, texts)
    own = session()
    for rewritten, case in ((one, one), (one, other), (other, one)):
        with own.context, ir.Location.unknown():
            module = own.parse(case)
            own.run(module, stop="abi")
            rewrite_readings(module, [rewritten])
            assert bool(find_readings(module)) == (rewritten != case)


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel_computes_the_program(name: str, monkeypatch) -> None:
    """Also past the ends of tiles; no place outside of the input is read."""
    text = text_of(name)
    found = find_here(text.encode(), f"{name}.mlir", parse_target("cuda:sm_90"), chains=True, norms=True)
    given = given_to(text)
    (wanted,) = results(text, given)
    pairs = outlook_of(found, [TritonNorms()]).pairs
    (problem,) = {site.problem for _, site, _ in pairs if site.problem.result.shape == wanted.shape}
    assert [each.shape for each in problem.inputs] == [each.shape for each in given]
    assert problem.nest is not None
    assert len(problem.nest.accesses) == ONE_KERNEL[name]
    np.testing.assert_array_equal(written(monkeypatch, problem, given), wanted)


def commands_in(text: str, flags=()) -> int:
    """Dispatches and copies of a program's function."""
    own = session(flags=flags)
    with own.context:
        module = own.parse(text)
        select_target(module, HOST)
        own.run(module, stop="flow")
        return len(re.findall(r"= flow\.(?:dispatch|tensor\.(?:slice|update|splat)) ", str(module)))


@pytest.mark.parametrize("name", SAVED)
def test_a_spec_rewrites_the_program(name: str, tmp_path) -> None:
    text, path = text_of(name), tmp_path / "k.mlir"
    places = find_here(text.encode(), f"{name}.mlir", HOST, chains=True)
    chosen = chains_in(outlook_of(places, [FusedOps()]))
    assert {bool(site.readings) for site, _ in chosen} == {True}
    save_kernel_spec(chosen, places.target, new_context(), path)
    flags = (f"{SPEC_FLAG}={path}",)
    assert (commands_in(text), commands_in(text, flags)) == SAVED[name]
    given = given_to(text)
    np.testing.assert_array_equal(results(text, given, flags), results(text, given))


COMPARED = """
util.func public @main(%x: tensor<8xELEMENT>) -> tensor<SIZExELEMENT> {
  %c = arith.constant 3 : index
  %k = arith.constant dense<CONSTANT> : tensor<8xELEMENT>
  %z = tensor.empty() : tensor<SIZExELEMENT>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%z : tensor<SIZExELEMENT>) {
    ^bb0(%q: ELEMENT):
      %i = linalg.index 0 : index
      %t = arith.cmpi PREDICATE, %i, %c : index
      %s = arith.select %t, %i, %c : index
      %v = tensor.extract %k[%s] : tensor<8xELEMENT>
      linalg.yield %v : ELEMENT
  } -> tensor<SIZExELEMENT>
  util.return %a : tensor<SIZExELEMENT>
}"""


@pytest.mark.parametrize(
    ("predicate", "size", "element", "constant", "count"),
    [
        ("slt", 4, "f32", "1.0", 1),
        ("ult", 4, "f32", "1.0", 0),  # is not evaluated
        ("slt", 0, "f32", "1.0", 0),
        ("slt", 4, "complex<f32>", "(1.0, 2.0)", 1),
    ],
)
def test_odd_bodies_take_nothing_from_others(predicate, size, element, constant, count) -> None:
    words = {"PREDICATE": predicate, "SIZE": str(size), "ELEMENT": element, "CONSTANT": constant}
    text = COMPARED
    for word, value in words.items():
        text = text.replace(word, value)
    with new_context(), ir.Location.unknown():
        assert len(find_readings(ir.Module.parse(text))) == count
