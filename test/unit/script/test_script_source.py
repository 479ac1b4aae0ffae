"""Scripts as a source of candidates: searched by workload, and part of the result's spec."""

from dataclasses import replace
from types import SimpleNamespace

import iree.runtime as rt
import numpy as np
import pytest
from paired import compare_pairs
from products import expected, inputs, matmul
from programs import TWO_PRODUCTS

from iree_tuner import tune_module
from iree_tuner.cli.main import run
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import UsageError
from iree_tuner.program.carried import IN_MEMORY
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.script.build import lowered_here
from iree_tuner.script.choices import ScriptChoices
from iree_tuner.script.script import load_script
from iree_tuner.script.source import FoundScripts, Scripts, change_of, guarded
from iree_tuner.space.build import build_spaces
from iree_tuner.space.configuration import Assignment
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.entry import SpecEntry, read_flags
from iree_tuner.spec.io import from_attribute
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.flags import untuned
from iree_tuner.tuning.loop import result_spec
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.source import specs_of
from iree_tuner.tuning.verdict import Tuned
from iree_tuner.tuning.versions import Compiling, applied, with_spec

FASTER = compare_pairs([[[2.0] * 16, [1.0] * 16]])
FLAGS = ("--iree-opt-level=O2",)
KNOBS = {"tile_rows": 16, "tile_columns": 16, "rows": 2, "columns": 8, "depth": 2}


@pytest.fixture(scope="module")
def script():
    return load_script("cpu_matmul")


@pytest.fixture(scope="module")
def dispatches(cpu, compilers):
    return extract(load_program(TWO_PRODUCTS), cpu, compilers).dispatches


@pytest.fixture(scope="module")
def tasks(dispatches):
    return [Task(each.workload, (each,)) for each in dispatches]


def lowered(target, compilers, script):
    program = load_program(TWO_PRODUCTS)
    return compilers.call(lowered_here, program.data, program.name, target, script)


def configured(program, target, compilers):
    """The functions that a program's own spec lowers."""
    spec = from_attribute(parse_module(program.data, new_context()).operation.attributes[IN_MEMORY])
    return lowered(target, compilers, spec)


def winner(task, script):
    """The result of a workload on which a script wins with other knobs."""
    kind = ScriptChoices.__new__(ScriptChoices)
    kind.script, kind.name = script, script.name
    won = SimpleNamespace(assignment=Assignment.of(KNOBS))
    return WorkloadResult(task, 0.5, competitors=(Competitor(kind, (), Final(won, FASTER)),))


def test_a_script_lowers_the_dispatches_of_its_workload_only(script, dispatches, cpu, compilers):
    first, second = dispatches
    assert set(lowered(cpu, compilers, script.data)) == {first.name, second.name}
    for each in dispatches:
        spec = to_bytecode(guarded(script, each.workload))
        assert lowered(cpu, compilers, spec) == (each.name,)


def test_each_workload_has_its_own_knobs_and_right_results(script, tasks, cpu, compilers, tmp_path):
    changes = [
        change_of(which, task) for task, which in zip(tasks, (script, script.chosen(KNOBS)), strict=True)
    ]
    to = applied(
        Compiling(load_program(TWO_PRODUCTS), cpu), changes, [Scripts([script])], compilers, tmp_path
    )
    assert len(configured(to.program, cpu, compilers)) == 2
    config = rt.Config("local-sync")
    vmfb = compile_program(to.program, to.target, compilers).data
    module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
    context = rt.SystemContext(vm_modules=[module], config=config)
    (a, b), (_, c) = inputs(32, 48, 64, bias=False), inputs(32, 16, 48, bias=False)
    found = context.modules.module["main"](a, b, c).to_host()
    np.testing.assert_array_equal(found, expected([expected([a, b]), c]))


def test_a_script_that_wins_takes_the_place_of_its_workload_s_entry(script, tasks, cpu):
    first, second = tasks
    entries = tuple(SimpleNamespace(workload=each.workload) for each in tasks)
    tuned = Tuned(cpu, (winner(first, script), WorkloadResult(second, 0.5)), entries)
    found = FoundScripts()
    (version,) = found.versions(SimpleNamespace(), tuned, [])
    assert [each.workload for each in version.entries] == [second.workload]
    (change,) = version.changes
    assert change.dispatches == (first.dispatches[0].name,)
    assert "rows=2" in change.how
    assert found.without(version, change.dispatches) is None
    assert not FoundScripts().versions(SimpleNamespace(), Tuned(cpu, (WorkloadResult(first, 0.5),), ()), [])


def test_scripts_that_are_wrong_are_left_out(script, tasks, cpu):
    changes = tuple(change_of(script, task) for task in tasks)
    version = replace(untuned(cpu), changes=changes)
    mended = FoundScripts().without(version, [tasks[1].dispatches[0].name])
    assert mended.changes == changes[:1]
    assert FoundScripts().without(version, None) is None  # it does not compile: who is to blame is not known


def test_a_run_tries_them(script):
    options = {
        "effort": "smoke", "device": "local-sync", "db": None, "candidates": 1, "strategy": "shuffle",
        "try_flags": False, "profile": False,
    }  # fmt: skip
    result = tune_module(matmul(32, 48, 64), sources=[Scripts([script])], **options)
    (own,) = result.results
    (competitor,) = own.competitors
    assert competitor.kind.name == "cpu_matmul"
    assert any(trial.outcome in ("ok", "too_slow") for trial in competitor.trials)


def test_the_spec_of_a_result_has_entries_scripts_and_flags(script, tasks, cpu, compilers):
    first, second = tasks
    context = new_context()
    space, *_ = build_spaces(second.workload, second.dispatches[0].limits, context)
    (member,) = space.sample(1, seed=0)
    entry = SpecEntry(second.workload, space.configuration(member))
    change = change_of(script, first)
    spec = result_spec([entry], specs_of([change], [Scripts()]), FLAGS, context)
    assert read_flags(spec) == FLAGS
    assert lowered(cpu, compilers, to_bytecode(spec)) == change.dispatches
    check = check_against_program(spec, TWO_PRODUCTS, cpu, workers=compilers)
    assert [each.count for each in check.matchers] == ["one"]
    assert not check.problems
    assert read_flags(result_spec([], specs_of([change], [Scripts()]), FLAGS, context)) == FLAGS


def test_what_it_is_used_with_compiles_the_same(script, tasks, cpu, compilers, tmp_path):
    added = specs_of([change_of(script, each) for each in tasks], [Scripts()])
    spec = result_spec([], added, (), new_context())
    (tmp_path / "two.mlir").write_text(TWO_PRODUCTS)
    (tmp_path / "two.spec.mlir").write_text(str(spec))
    command = ["compile", f"{tmp_path}/two.mlir", "--spec", f"{tmp_path}/two.spec.mlir"]
    assert run([*command, "-o", f"{tmp_path}/x.vmfb"]) == 0
    program = with_spec(load_program(TWO_PRODUCTS), to_bytecode(spec))
    assert (tmp_path / "x.vmfb").read_bytes() == compile_program(program, cpu, compilers).data
    assert set(lowered(cpu, compilers, to_bytecode(spec))) == {each.dispatches[0].name for each in tasks}


def test_they_are_asked_for_by_name(script, tmp_path, capsys):
    assert Scripts().usual("llvm-cpu") is None
    assert Scripts().given("cpu_matmul").scripts == (script,)
    with pytest.raises(UsageError, match="unknown script 'nothing'"):
        Scripts().given("nothing")
    (tmp_path / "two.mlir").write_text(TWO_PRODUCTS)
    assert run(["tune", f"{tmp_path}/two.mlir", "--with", "runtime=x"]) == 2
    assert "--with: runtime takes no value, so not 'x'" in capsys.readouterr().err
