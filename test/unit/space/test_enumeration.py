"""Interpreting the constraints gives z3's set, on spaces built here and on IR that z3 alone judges."""

from __future__ import annotations

import pytest
from conftest import conv, matmul, softmax
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.errors import TunerError
from iree_tuner.space import Space, build_space
from iree_tuner.space.constraints import build_constraints, integers, knob
from iree_tuner.space.expressions import Integer, constant, if_else, product, require
from iree_tuner.space.judge import Judge
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, pipeline
from iree_tuner.targets import CpuLimits

CONTEXT = new_context()


def both(space: Space) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    ours = [tuple(member[name] for name in space.names) for member in space.enumerate()]
    assert len(ours) == len(set(ours)) == space.count()
    return set(ours), Judge(space.op.operation).models(space.names)


@pytest.mark.parametrize(
    "workload",
    [matmul(4, 3, 2), matmul(1, 6, 4), softmax(3, 2), conv(2, 2, 1)],
    ids=lambda workload: workload.name,
)
def test_interpreter_gives_the_set_of_z3(workload) -> None:
    ours, judged = both(build_space(workload, CpuLimits(max_stack_bytes=64), CONTEXT))
    assert ours == judged
    assert ours


def space_of(fill, names: tuple[str, ...]) -> Space:
    def body():
        fill()
        return {LOWERING_CONFIG: ir.DictAttr.get({"distribution": integers(names)})}

    with CONTEXT, ir.Location.unknown():
        return Space(matmul(8, 8, 8), build_constraints(pipeline("DoubleTilingExpert"), body, CONTEXT))


@settings(max_examples=25, deadline=None)
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
        from iree.compiler.dialects import iree_codegen

        a, b = (Integer(iree_codegen.KnobOp(name).result) for name in "ab")
        require(a >= 1, "a >= 1")
        require(a * 4 <= 50, "4 a <= 50")
        require((constant(24) % a).equals(0), "a divides 24")
        require(b.equals(a * 3), "b is determined")

    space = space_of(fill, ("a", "b"))
    assert [knob.values for knob in space.knobs] == [(1, 2, 3, 4, 6, 8, 12), (3, 6, 9, 12, 18, 24, 36)]
    assert space.count() == 7


def test_a_knob_without_bounds_is_an_error() -> None:
    def fill() -> None:
        from iree.compiler.dialects import iree_codegen

        require(Integer(iree_codegen.KnobOp("a").result) >= 1, "a >= 1")

    with pytest.raises(TunerError, match="give 'a' no finite domain"):
        space_of(fill, ("a",)).count()


def test_contradiction_is_an_empty_space() -> None:
    def fill() -> None:
        a = knob("a", (1, 2), "one or two")
        require(a > 2, "more than two")

    space = space_of(fill, ("a",))
    assert space.count() == 0
    assert space.sample(3, seed=0) == []
