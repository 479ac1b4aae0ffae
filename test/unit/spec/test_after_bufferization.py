"""Matchers by structure, where the compiler makes loads from buffers of inputs before specs run: on GPUs."""

from __future__ import annotations

import pytest
from amounts import some
from iree.compiler import ir
from strided import strided

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import parse_target


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return new_context()


@pytest.mark.parametrize("name", some(["hip:gfx942", "cuda:sm_89"], 2))
def test_the_configuration_of_a_generic_op_arrives(
    name: str, context: ir.Context, compilers: Workers
) -> None:
    program, target = load_program(strided()), parse_target(name)
    _, dispatch = extract(program, target, compilers).dispatches
    assert dispatch.workload is not None
    assert dispatch.workload.family == "generic"
    (space,) = build_spaces(dispatch.workload, dispatch.limits, context)
    (member,) = space.sample(1, seed=0)
    spec = build_spec([SpecEntry(dispatch.workload, space.configuration(member))], context)
    found = check_against_program(spec, program.data, target, name=program.name, workers=compilers)
    assert not found.problems
    (matcher,) = found.matchers
    assert [(hit.dispatch, hit.ignored) for hit in matcher.hits] == [("main_dispatch_1", "")]
