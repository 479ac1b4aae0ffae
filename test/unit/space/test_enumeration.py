"""Interpreting the constraints gives z3's set, on spaces built here and on IR that z3 alone judges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from amounts import amount
from by_hand import CONTEXT, bare_knob, both, emitted_space, space_of, unknown
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir
from space.made_workloads import conv, matmul, softmax

from iree_tuner.errors import TunerError
from iree_tuner.program.extract import extract_here
from iree_tuner.space.build import build_space
from iree_tuner.space.constraints import knob
from iree_tuner.space.emitted import emit_here
from iree_tuner.space.expressions import Boolean, Integer, all_of, any_of, constant, if_else, product, require
from iree_tuner.space.interpreter import read_program
from iree_tuner.space.sampling import Join, Numbering, enumerate_members, shuffled
from iree_tuner.space.space import Judge, Space
from iree_tuner.targets import CpuLimits, parse_target

PROGRAM = b"""
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @main(%a: tensor<1024x1280xf16>, %b: tensor<1280x1280xf16>) -> tensor<1024x1280xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1280xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<1024x1280xf32>) -> tensor<1024x1280xf32>
  %r = linalg.matmul indexing_maps = [#lhs, #rhs, #out]
      ins(%a, %b : tensor<1024x1280xf16>, tensor<1280x1280xf16>)
      outs(%f : tensor<1024x1280xf32>) -> tensor<1024x1280xf32>
  return %r : tensor<1024x1280xf32>
}
"""


@pytest.mark.parametrize(
    "workload",
    [amount(matmul(2, 3, 2), matmul(4, 3, 2)), matmul(1, 6, 4), softmax(3, 2), conv(2, 2, 1)],
    ids=lambda workload: workload.name,
)
def test_interpreter_gives_the_set_of_z3(workload) -> None:
    space = build_space(workload, CpuLimits(max_stack_bytes=64), CONTEXT)
    ours, judged = both(space)
    assert ours == judged
    members, judge = list(space.enumerate()), Judge(space.op.operation)
    assert all(map(judge.accepts, members))


def test_the_emitted_space_has_the_members_that_z3_finds() -> None:
    space = emitted_space()
    members = list(space.enumerate())
    assert len(set(members)) == len(members) == space.count() == 2442
    assert all(map(Judge(space.op.operation).accepts, members[:: amount(200, 50)]))


@pytest.mark.exhaustive
def test_the_emitted_space_is_z3s_model_by_model() -> None:
    ours, judged = both(emitted_space())
    assert ours == judged
    assert len(judged) == 2442


def test_the_compiler_emits_the_same_space_today() -> None:
    target = parse_target("hip:gfx942")
    (dispatch,) = extract_here(PROGRAM, "program.mlir", target).dispatches
    assert dispatch.harness is not None
    counts: dict[str, int] = {}
    for bytecode in emit_here(dispatch.harness.module, target.flags):
        with CONTEXT:
            space = Space(dispatch.workload, ir.Module.parse(bytecode))
        counts[space.pipeline] = space.count()
        if space.pipeline == "TileAndFuse":
            assert list(space.enumerate()) == list(emitted_space().enumerate())
    assert counts == {"TileAndFuse": 2442, "VectorDistribute": 870}


Tree = tuple[object, ...]
INTEGERS = st.recursive(
    st.tuples(st.just("variable"), st.integers(0, 4)) | st.tuples(st.just("constant"), st.integers(-3, 6)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 4)),
        st.tuples(st.just("if"), inner, inner, inner),
    ),
    max_leaves=4,
)
CONDITIONS = st.recursive(
    st.tuples(st.sampled_from(["==", "<=", ">"]), INTEGERS, INTEGERS),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)
    ),
    max_leaves=3,
)


def integer(tree: Tree, variables: list[Integer]) -> Integer:
    match tree:
        case ("variable", int(place)):
            return variables[place]
        case ("constant", int(value)):
            return constant(value)
        case ("if", tuple(x), tuple(y), tuple(z)):
            return if_else(integer(x, variables) > 0, integer(y, variables), integer(z, variables))
        case (str(name), tuple(x), int(divisor)):
            left = integer(x, variables)
            return left // divisor if name == "//" else left % divisor
        case (str(name), tuple(x), tuple(y)):
            left, right = integer(x, variables), integer(y, variables)
            return left + right if name == "+" else left - right if name == "-" else product([left, right])
    raise AssertionError(tree)


def condition(tree: Tree, variables: list[Integer]) -> Boolean:
    match tree:
        case ("not", tuple(x)):
            return ~condition(x, variables)
        case ("and" | "or" as name, tuple(x), tuple(y)):
            return (all_of if name == "and" else any_of)([condition(x, variables), condition(y, variables)])
        case (str(name), tuple(x), tuple(y)):
            left, right = integer(x, variables), integer(y, variables)
            return left.equals(right) if name == "==" else left <= right if name == "<=" else left > right
    raise AssertionError(tree)


@settings(max_examples=amount(10, 60), deadline=None)
@given(
    values=st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), min_size=5, max_size=5),
    asserts=st.lists(CONDITIONS, min_size=1, max_size=4),
    definition=st.none() | INTEGERS,
    frontier=st.sampled_from([1, 4, 20]),
)
def test_random_ops_have_the_members_that_z3_finds(values, asserts, definition, frontier) -> None:
    """Three knobs, two unknowns that z3 may choose, and at times a knob that must equal an expression."""

    def fill() -> None:
        variables = [knob(name, sorted(each), "listed") for name, each in zip("abc", values[:3], strict=True)]
        variables += [unknown(sorted(each)) for each in values[3:]]
        for tree in asserts:
            require(condition(tree, variables), "random")
        if definition is not None:
            result = bare_knob("d")
            require(result >= -100, "low")
            require(result <= 100, "high")
            require(result.equals(integer(definition, variables)), "defined")

    names = ("a", "b", "c") if definition is None else ("a", "b", "c", "d")
    space = space_of(fill, names)
    ours, judged = both(space)
    assert ours == judged
    join = Join(read_program(space.op.operation))
    drawn = list(shuffled(join, lambda: enumerate_members(join), 0, frontier))
    assert len(drawn) == len(ours)
    assert set(drawn) == ours


@settings(max_examples=amount(10, 25), deadline=None)
@given(
    first=st.sets(st.integers(0, 12), min_size=1, max_size=4),
    second=st.sets(st.integers(1, 12), min_size=1, max_size=4),
    scale=st.integers(-3, 3),
    bound=st.integers(-20, 40),
    divisor=st.integers(1, 4),
)
def test_expressions_mean_what_z3_says(first, second, scale, bound, divisor) -> None:
    def fill() -> None:
        a, b = knob("a", sorted(first), "listed"), knob("b", sorted(second), "listed")
        require(a * scale + b <= bound, "sum")
        require(((a - b) % divisor).equals(0) | ((a - b) // divisor >= 0), "euclidean")
        require(product([a, b, 2]) < if_else(a > b, constant(50), Integer((a + b).value)) + 20, "choice")
        require(~(a % b).equals(3), "remainder")

    ours, judged = both(space_of(fill, ("a", "b")))
    assert ours == judged


def test_domains_come_from_bounds_and_divisibility() -> None:
    def fill() -> None:
        a, b = bare_knob("a"), bare_knob("b")
        require(a >= 1, "a >= 1")
        require(a * 4 <= 50, "4 a <= 50")
        require((constant(24) % a).equals(0), "a divides 24")
        require(b.equals(a * 3), "b is determined")

    space = space_of(fill, ("a", "b"))
    assert [knob.values for knob in space.knobs] == [(1, 2, 3, 4, 6, 8, 12), (3, 6, 9, 12, 18, 24, 36)]
    assert space.count() == 7


def test_a_knob_without_bounds_is_an_error() -> None:
    with pytest.raises(TunerError, match="give 'a' no finite domain"):
        space_of(lambda: require(bare_knob("a") >= 1, "a >= 1"), ("a",)).count()


def test_contradiction_is_an_empty_space() -> None:
    def fill() -> None:
        a = knob("a", (1, 2), "one or two")
        require(a > 2, "more than two")

    space = space_of(fill, ("a",))
    assert space.count() == 0
    assert space.sample(3, seed=0) == []
    assert space.neighbors({"a": 1}) == []


def test_contradicting_bounds_of_a_factor_are_an_empty_space() -> None:
    def fill() -> None:
        a, b = bare_knob("a"), bare_knob("b")
        for each in (a, b):
            require(each >= 1, "at least one")
            require(each <= 0, "at most none")
        require(product([a, b]).equals(12), "product")
        require((constant(12) // a).equals(b), "quotient")

    assert space_of(fill, ("a", "b")).count() == 0


@given(
    sizes=st.lists(st.sampled_from([1, 2, 7, 1 << 20, 1 << 31]), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_packing_keeps_rows_and_their_order(sizes, seed) -> None:
    generator = np.random.default_rng(seed)
    rows = np.unique(np.stack([generator.integers(size, size=50) for size in sizes], axis=1), axis=0)
    packing = Numbering(tuple(sizes))
    packed = packing.pack(list(rows.T), len(rows))
    assert np.array_equal(np.stack(packing.unpack(packed), axis=1), rows)
    words = [tuple(word) for word in packed.T.tolist()]
    assert words == sorted(words)


def test_a_space_with_long_rows_is_enumerated_in_order() -> None:
    """Sixteen knobs with sixteen values each do not fit one integer."""
    names = tuple(f"k{place:02}" for place in range(16))

    def fill() -> None:
        knobs = [knob(name, [value * value for value in range(16)], "a square") for name in names]
        for before, after in pairwise(knobs):
            require(any_of([before.equals(after), after.equals(225)]), "the same, or the last")

    members = [tuple(member[name] for name in names) for member in space_of(fill, names).enumerate()]
    assert members == sorted(set(members))
    assert len(members) == 15 * 16 + 1
