"""Sizes that are known only at run time, on GPUs: tuned at one size, matched by bounds."""

from __future__ import annotations

import pytest
from amounts import amount, some

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.build import build_space, build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import Target, parse_target

DYNAMIC = """
func.func @main(%a: tensor<?x512xf16>, %b: tensor<512x256xf16>) -> tensor<?x256xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x512xf16>
  %m = util.assume.int %d<umin = 16, umax = UPPER DIVISOR> : index
  %e = tensor.empty(%m) : tensor<?x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x512xf16>, tensor<512x256xf16>)
      outs(%f : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %r : tensor<?x256xf32>
}
"""
STATIC = """
func.func @main(%a: tensor<ROWSx512xf16>, %b: tensor<512x256xf16>) -> tensor<ROWSx256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<ROWSx256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<ROWSx256xf32>) -> tensor<ROWSx256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<ROWSx512xf16>, tensor<512x256xf16>)
      outs(%f : tensor<ROWSx256xf32>) -> tensor<ROWSx256xf32>
  return %r : tensor<ROWSx256xf32>
}
"""
ROWS = """
func.func @main(%a: tensor<?x512xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x512xf32>
  %m = util.assume.int %d<umin = 16, umax = UPPER DIVISOR> : index
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]} ins(%a : tensor<?x512xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
ADDED = """
func.func @main(%a: tensor<?x512xf32>, %b: tensor<512xf32>) -> tensor<?x512xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x512xf32>
  %m = util.assume.int %d<umin = 16, umax = UPPER DIVISOR> : index
  %e = tensor.empty(%m) : tensor<?x512xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
      affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<?x512xf32>, tensor<512xf32>) outs(%e : tensor<?x512xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?x512xf32>
  return %r : tensor<?x512xf32>
}
"""
SOFTMAX = """
func.func @main(%a: tensor<64x?xf32>) -> tensor<64x?xf32> {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %a, %c1 : tensor<64x?xf32>
  %e = tensor.empty(%d) : tensor<64x?xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<64x?xf32>) outs(%e : tensor<64x?xf32>) -> tensor<64x?xf32>
  return %r : tensor<64x?xf32>
}
"""
GENERIC = {"rows": ROWS, "added": ADDED}
EACH = [(name, kind) for name in ("cuda:sm_80", "hip:gfx942") for kind in GENERIC]


@pytest.fixture(scope="module")
def workers(compilers):
    return compilers


def dynamic(upper: int, divisor: str = "", text: str = DYNAMIC) -> str:
    return text.replace("UPPER", str(upper)).replace(" DIVISOR", divisor)


def static(text: str, size: int) -> str:
    lines = [line for line in text.splitlines() if "tensor.dim" not in line and "assume" not in line]
    return "\n".join(lines).replace("?", str(size)).replace("(%m)", "()").replace("(%d)", "()")


def are_hit(spec, texts: list[str], target: Target, workers: Workers) -> list[bool]:
    """Which of these programs' dispatches a spec hits: all are looked at as one program.

    Of dynamic ones there may be only one: those that differ in bounds become one dispatch.
    """
    together = "".join(text.replace("@main", f"@f{number}") for number, text in enumerate(texts))
    found = check_against_program(spec, together, target, workers=workers)
    assert {each.kind for each in found.problems} <= {"hits_nothing"}
    hit = {hit.dispatch.partition("_dispatch")[0] for each in found.matchers for hit in each.hits}
    return [f"f{number}" in hit for number in range(len(texts))]


@pytest.mark.parametrize(
    ("name", "divisor"),
    [
        ("cuda:sm_80", ""),
        pytest.param("hip:gfx942", "", marks=pytest.mark.exhaustive),  # its generic ops are matched below
        ("cuda:sm_80", ", udiv = 16"),
        pytest.param("hip:gfx942", ", udiv = 16", marks=pytest.mark.exhaustive),
    ],
)
def test_a_spec_is_used_within_its_bounds(name: str, divisor: str, workers: Workers) -> None:
    target, context = parse_target(name), new_context()
    program = sized(Program("program.mlir", dynamic(4096, divisor).encode()), ["128"])
    (dispatch,) = extract(program, target, workers).dispatches
    assert dispatch.workload is not None
    assert dispatch.workload.dynamic
    space = build_space(dispatch.workload, dispatch.limits, context)
    (member,) = space.sample(1, seed=0)
    spec = build_spec([SpecEntry(dispatch.workload, space.configuration(member))], context)

    # What is a multiple of 16 is matched as two loops, which static sizes are not.
    fixed = [] if divisor else [STATIC.replace("ROWS", each) for each in ("96", "8192")]
    found = are_hit(spec, [dynamic(4096, divisor), *fixed], target, workers)
    assert found == [True, True, False][: len(found)]
    for upper, within in ((1024, True), (8192, False)):
        assert are_hit(spec, [dynamic(upper, divisor)], target, workers) == [within]


@pytest.mark.parametrize(("name", "kind"), some(EACH, 3))
def test_generic_ops_are_matched_within_their_bounds(name: str, kind: str, workers: Workers) -> None:
    text, target, context = GENERIC[kind], parse_target(name), new_context()
    program = sized(Program("program.mlir", dynamic(4096, "", text).encode()), ["128"])
    (dispatch,) = extract(program, target, workers).dispatches
    assert dispatch.workload is not None
    assert dispatch.workload.family == "generic"
    spaces = build_spaces(dispatch.workload, dispatch.limits, context)
    assert any(find_default(each, Written.by_compiler(dispatch)).assignment for each in spaces)
    (member,) = spaces[-1].sample(1, seed=0)
    spec = build_spec([SpecEntry(dispatch.workload, spaces[-1].configuration(member))], context)

    found = are_hit(spec, [dynamic(4096, "", text), static(text, 96), static(text, 8192)], target, workers)
    assert found == [True, True, False]
    for upper, within in ((1024, True), (8192, False)):
        assert are_hit(spec, [dynamic(upper, "", text)], target, workers) == [within]


@pytest.mark.parametrize("name", some(["cuda:sm_80", "hip:gfx942"], 2))
def test_sums_of_unknown_length_are_shared_and_matched_where_it_is_unknown(
    name: str, workers: Workers
) -> None:
    target, context = parse_target(name), new_context()
    program = sized(Program("program.mlir", SOFTMAX.encode()), ["1000"])
    (dispatch,) = extract(program, target, workers).dispatches
    assert dispatch.workload is not None
    assert dispatch.harness is not None
    *_, shared = build_spaces(dispatch.workload, dispatch.limits, context)
    own = find_default(shared, Written.by_compiler(dispatch))
    assert own.assignment is not None, own.reasons
    members = [shared.configuration(member) for member in shared.sample(amount(1, 4), seed=0)]
    built = list(Builder(target, workers).build_all(dispatch.harness, members))
    assert {each.outcome for each in built} == {"ok"}, [each.message for each in built]
    spec = build_spec([SpecEntry(dispatch.workload, members[0])], context)
    assert are_hit(spec, [SOFTMAX, static(SOFTMAX, 1024)], target, workers) == [True, False]
