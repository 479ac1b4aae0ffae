from __future__ import annotations

from dataclasses import replace

import pytest
from iree.compiler import ir

from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import Workers
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program, check_spec
from iree_tuner.targets import parse_target

FLAGS = parse_target("llvm-cpu:host").flags


@pytest.fixture(scope="module")
def workers():
    with Workers() as pool:
        yield pool


def kinds(problems) -> list[str]:
    return [problem.kind for problem in problems]


def test_a_configuration_that_is_lost_is_told(context, entry, program, workers):
    """Without its prologue, a convolution is matched by nothing: its batch is folded away."""
    found = check_against_program(
        build_spec([entry("conv")], context, prologue=()), program("conv"), FLAGS, workers=workers
    )
    assert kinds(found.problems) == ["hits_nothing"]


@pytest.mark.parametrize("name", ["matmul", "conv", "softmax", "attention"])
def test_one_hit_for_each_family(context, entry, program, workers, name):
    found = check_against_program(build_spec([entry(name)], context), program(name), FLAGS, workers=workers)
    assert [hits.count for hits in found.matchers] == ["one"]
    assert found.problems == ()


def test_several_and_none(context, entry, program, workers):
    spec = build_spec([entry("other_matmul"), entry("matmul")], context)
    before = str(spec)
    found = check_against_program(spec, program("two_matmuls"), FLAGS, workers=workers)
    assert [hits.count for hits in found.matchers] == ["none", "several"]
    assert kinds(found.problems) == ["hits_nothing"]
    assert str(spec) == before


def test_a_program_that_does_not_parse(context, entry, workers):
    with pytest.raises(CompileError, match=r"model.mlir:1:\d+"):
        check_against_program(
            build_spec([entry("matmul")], context), "func.func @f(", FLAGS, name="model.mlir", workers=workers
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
