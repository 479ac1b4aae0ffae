"""Spaces of softmaxes, norms and elementwise ops on GPUs: legal, compiled, around the compiler's choice."""

from __future__ import annotations

from pathlib import Path

import pytest
from amounts import amount, some
from iree.compiler import ir
from light_members import light

from iree_tuner.measure.candidate import Builder
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.targets import parse_target

PROGRAMS = Path(__file__).parents[2] / "space" / "Inputs"
SHARED = {"softmax_f32": ["TileAndFuse", "VectorDistribute"], "norm_f16": ["TileAndFuse", "VectorDistribute"]}
PIPELINES = SHARED | {"softmax_odd_f32": ["TileAndFuse"], "transposed_f32_f16": ["TileAndFuse"]}
TARGETS = ("cuda:sm_89", "hip:gfx942")


@pytest.fixture(scope="module")
def dispatch_of(only_dispatch):
    known = {}

    def find(name, target):
        if (name, target) not in known:
            known[name, target] = only_dispatch(PROGRAMS / f"{name}.mlir", parse_target(target))
        return known[name, target]

    return find


@pytest.mark.parametrize("target", some(TARGETS, 2))
@pytest.mark.parametrize("name", some(PIPELINES, 4))
def test_samples_compile_and_the_compilers_choice_is_a_member(
    name, target, dispatch_of, compilers, context: ir.Context
) -> None:
    dispatch = dispatch_of(name, target)
    spaces = build_spaces(dispatch.workload, dispatch.limits, context)
    assert [space.pipeline for space in spaces] == PIPELINES[name]
    defaults = [find_default(space, Written.by_compiler(dispatch)).assignment for space in spaces]
    assert any(each is not None for each in defaults)
    builder = Builder(parse_target(target), compilers)
    for space in spaces:
        members = [space.configuration(member) for member in light(space.sample(16, seed=1))[: amount(1, 16)]]
        built = builder.build_all(dispatch.harness, members)
        assert [each.outcome for each in built] == ["ok"] * len(members), [each.message for each in built]


@pytest.mark.parametrize("name", SHARED)
def test_all_ops_of_a_dispatch_are_spread_alike(name, dispatch_of, context: ir.Context) -> None:
    dispatch = dispatch_of(name, "cuda:sm_89")
    _, space = build_spaces(dispatch.workload, dispatch.limits, context)
    for member in space.sample(50, seed=0):
        threads = 32 * member["subgroups"]
        (step,) = (value for knob, value in member.items() if knob.startswith("red_"))
        assert (member["wg_size_x"], step) == (threads, threads * member["th_k"])
        root, *others = space.configuration(member).ops
        assert {each.label for each in others} == {each.label for each in dispatch.workload.companions}
        for each in others:
            assert each.attribute == "lowering_config"
            assert ("serial" in each.value) != ("partial_reduction" in each.value)
            for level in ("lane_basis", "subgroup_basis"):
                assert _level(each.value, level) == _level(root.value, level)


def _level(text: str, name: str) -> str:
    return text.partition(f"{name} = [[")[2].partition("]")[0]
