from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from iree.compiler import ir

from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import Workers
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program, check_spec
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import parse_target

INPUTS = Path(__file__).resolve().parents[2] / "spec" / "Inputs"
HOST = parse_target("llvm-cpu:host")


@pytest.fixture(scope="module")
def workers():
    with Workers() as pool:
        yield pool


def kinds(problems) -> list[str]:
    return [problem.kind for problem in problems]


def test_a_configuration_that_is_lost_is_told(context, entry, program, workers):
    """Without its prologue, a convolution is matched by nothing: its batch is folded away."""
    found = check_against_program(
        build_spec([entry("conv")], context, prologue=()), program("conv"), HOST, workers=workers
    )
    assert kinds(found.problems) == ["hits_nothing"]


@pytest.mark.parametrize("name", ["matmul", "conv", "softmax", "attention"])
def test_one_hit_for_each_family(context, entry, program, workers, name):
    found = check_against_program(build_spec([entry(name)], context), program(name), HOST, workers=workers)
    assert [hits.count for hits in found.matchers] == ["one"]
    assert found.problems == ()


@pytest.mark.parametrize("name", ["cuda:sm_80", "cuda:sm_90", "vulkan:ampere", "hip:gfx942"])
def test_specs_in_memory_reach_every_target(context, entry, program, workers, name):
    value = (
        "#iree_codegen.compilation_info<lowering_config = "
        "#iree_gpu.lowering_config<{workgroup = [64, 64, 0], reduction = [0, 0, 16], thread = [4, 4, 0]}>, "
        "translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> "
        "workgroup_size = [256, 1, 1] subgroup_size = 32>>"
    )
    configuration = Configuration((OpConfiguration("root", "compilation_info", value),))
    spec = build_spec([replace(entry("matmul"), configuration=configuration)], context)
    found = check_against_program(spec, program("matmul"), parse_target(name), workers=workers)
    assert [hits.count for hits in found.matchers] == ["one"]
    assert found.problems == ()


def test_what_is_replaced_after_matching_is_told(context, program, workers):
    """A foreign spec that matches the convolution before the compiler gives its batch back."""
    found = check_against_program(
        load_spec(INPUTS / "lost_conv.spec.mlir", context), program("conv"), HOST, workers=workers
    )
    assert kinds(found.problems) == ["not_applied"]
    assert "replaced afterwards" in found.problems[0].message


def test_several_and_none(context, entry, program, workers):
    spec = build_spec([entry("other_matmul"), entry("matmul")], context)
    before = str(spec)
    found = check_against_program(spec, program("two_matmuls"), HOST, workers=workers)
    assert [hits.count for hits in found.matchers] == ["none", "several"]
    assert kinds(found.problems) == ["hits_nothing"]
    assert str(spec) == before


def test_a_program_that_does_not_parse(context, entry, workers):
    with pytest.raises(CompileError, match=r"model.mlir:1:\d+"):
        check_against_program(
            build_spec([entry("matmul")], context), "func.func @f(", HOST, name="model.mlir", workers=workers
        )


def test_without_an_entry_point(context):
    module = ir.Module.parse("module {}", context)
    assert kinds(check_spec(module)) == ["not_a_library", "no_entry_point"]


def test_a_repeated_matcher(context, entry):
    twice = replace(entry("matmul"), workload=replace(entry("matmul").workload, op="other"))
    problems = check_spec(build_spec([entry("matmul"), twice], context))
    assert kinds(problems) == ["repeated"]
    assert problems[0].where == "match_other_256x512x128_f32_f32_f32"


def test_conflicting_matchers(context, entry):
    conflict = entry("matmul_conflict")
    conflict = replace(conflict, workload=replace(conflict.workload, op="other"))
    assert kinds(check_spec(build_spec([entry("matmul"), conflict], context))) == ["conflict"]
