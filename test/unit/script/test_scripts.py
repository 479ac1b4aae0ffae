"""Scripts: linked, their knobs read, set and searched."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from amounts import amount
from iree.compiler import ir
from products import matmul

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench, JointBench, joined
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Harness
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.script.build import compile_with_script
from iree_tuner.script.choices import ScriptLandscape, script_space, search_script
from iree_tuner.script.script import load_script, read_knobs
from iree_tuner.search.strategy import make_strategy, strategy_names
from iree_tuner.space.configuration import Assignment
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.stop import StopRequest

HOW = {"trials": amount(5, 12), "strategy": "shuffle", "seed": 8, "rounds": 8}
"""So many trials that each way to cut the sums is among them; the tiles of this seed's first compile soon."""

WRONG = Path(__file__).resolve().parents[2] / "script" / "Inputs" / "wrong_numbers.mlir"
HEADER = """module attributes { transform.with_named_sequence } {
  transform.named_sequence @__kernel_config(%func: !transform.any_op {transform.readonly}) {
"""
FOOTER = """
    transform.yield
  }
}
"""


def knob(name, value, values, extra="", to="!transform.param<i64>"):
    listed = f"array<i64: {', '.join(map(str, values))}>"
    said = f'iree_tuner.knob = "{name}", iree_tuner.values = {listed}{extra}'
    return f"    %{name}_{value} = transform.param.constant {value} : i64 {{{said}}} -> {to}\n"


@pytest.fixture
def written(tmp_path):
    def write(*ops):
        path = tmp_path / "own.mlir"
        path.write_text(HEADER + "".join(ops) + FOOTER)
        return path

    return write


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device("local-sync"), 1) as found:
        yield found


def test_knobs_are_read_and_set(written):
    script = load_script(written(knob("rows", 8, (4, 8)), knob("tile", 32, (16, 32))))
    assert script.defaults == {"rows": 8, "tile": 32}
    other = script.chosen({"rows": 4})
    assert other.defaults == {"rows": 4, "tile": 32}
    again = ir.Module.parse(other.data, new_context())
    assert {each.name: each.default for each in read_knobs(again)} == {"rows": 4, "tile": 32}
    assert script.defaults["rows"] == 8


def test_one_knob_may_be_several_constants(written):
    script = load_script(
        written(knob("rows", 8, (4, 8)), knob("rows", 8, (4, 8)).replace("%rows_8", "%other"))
    )
    assert [each.name for each in script.knobs] == ["rows"]
    assert script.chosen({"rows": 4}).text().count("constant 4 : i64") == 2


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([knob("rows", 8, (4, 16))], "3:.*: the values of 'rows' must be at least 1, and its default among"),
        ([knob("rows", 0, (0, 4))], "must be at least 1"),
        ([knob("rows", 8, (8,)), knob("rows", 4, (4, 8))], "4:.*: the knob 'rows' is declared twice"),
        ([knob("rows", 8, (8,), ', iree_tuner.divides = "tile"')], "divides 'tile', which is not a knob"),
        (
            [knob("rows", 8, (8,), ', iree_tuner.divides = "tile"'), knob("tile", 12, (12,))],
            "the default of 'rows' does not divide that of 'tile'",
        ),
        (
            ['    transform.print name = "x" {iree_tuner.knob = "rows"}\n'],
            "a knob must be a transform.param.constant",
        ),
    ],
)
def test_knobs_that_are_none(written, ops, message):
    with pytest.raises(TunerError, match=message):
        load_script(written(*ops))


def test_values_of_knobs_are_checked(written):
    script = load_script(written(knob("rows", 8, (4, 8))))
    with pytest.raises(UsageError, match=r"no knob 'row' \(one of: rows\)"):
        script.chosen({"row": 4})
    with pytest.raises(UsageError, match="at least 1"):
        script.chosen({"rows": 0})
    assert script.chosen({"rows": 5}).defaults == {"rows": 5}  # need not be among those to search
    with pytest.raises(UsageError, match="it has none"):
        load_script(written()).chosen({"rows": 4})


def test_a_script_of_ones_own_goes_before_the_library(tmp_path):
    path = tmp_path / "own.mlir"
    path.write_text(load_script("cpu_matmul").text().replace('"root"', '"mine"'))
    assert '"mine"' in load_script(path).text()
    with pytest.raises(TunerError, match="no such file"):
        load_script(tmp_path / "other.mlir")
    with pytest.raises(TunerError, match="folder"):
        load_script(tmp_path)


def workload_of(size, lab):
    (dispatch,) = extract(load_program(matmul(size, size, size)), lab.target, lab.compilers).dispatches
    return dispatch


@pytest.mark.parametrize("name", ["cpu_matmul", "cpu_matmul_elementwise"])
def test_the_space_is_what_the_script_says(name, lab):
    script = load_script(name)
    space = script_space(script, workload_of(64, lab).workload, lab.context)
    values = {each.name: each.values for each in script.knobs}
    legal = [
        dict(zip(values, chosen, strict=True))
        for chosen in itertools.product(*values.values())
        if all(
            dict(zip(values, chosen, strict=True))[each.divides]
            % dict(zip(values, chosen, strict=True))[each.name]
            == 0
            for each in script.knobs
            if each.divides
        )
    ]
    assert space.count() == len(legal)
    assert {tuple(sorted(each.items())) for each in space.enumerate()} == {
        tuple(sorted(each.items())) for each in legal
    }
    assert space.contains(Assignment.of(script.defaults))
    assert "rows (8) must divide tile_rows (12)" in space.violations(
        {**script.defaults, "rows": 8, "tile_rows": 12}
    )


@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy_can_search_a_script(name, lab):
    script = load_script("cpu_matmul")
    space = script_space(script, workload_of(64, lab).workload, lab.context)
    asked = make_strategy(name, ScriptLandscape(space), 3, Assignment.of(script.defaults)).ask(5)
    assert len(set(asked)) == 5
    assert all(space.contains(each) for each in asked)


@pytest.fixture(scope="module")
def searched(lab, tmp_path_factory):
    """A search that ended after two trials, as by a kill, and the next one, which goes on from its database.

    Of a knob that cuts sums apart among workgroups, which overwrite each other: right in one piece only.
    """
    script = load_script(WRONG)
    program = load_program(matmul(64, 64, 32))
    lowered = compile_with_script(program, lab.target, script, lab.compilers).lowered
    path = tmp_path_factory.mktemp("searched") / "trials.db"

    def search(trials):
        with (
            StopRequest() as stop,
            open_records(path, "program", {}, stop=stop, fresh=False) as records,
        ):
            return search_script(
                program, script, lowered, lab, stop, records=records, **(HOW | {"trials": trials})
            )

    return search(2), search(HOW["trials"])


def test_what_is_wrong_is_never_ranked(searched):
    _, found = searched
    wrong = [each for each in found.trials if each.outcome == "wrong_result"]
    assert {each.assignment["part"] for each in wrong} == {8, 16}
    assert all("tensor 2" in each.message for each in wrong)
    assert found.ranked
    assert {each.assignment["part"] for each in found.ranked} == {32}


def test_trials_are_kept_and_not_tried_again_and_failures_have_a_reproducer(searched):
    first, again = searched
    kept = {each.assignment: each.at for each in first.trials}
    assert {each.assignment: each.at for each in again.trials if each.assignment in kept} == kept
    wrong = next(each for each in again.trials if each.outcome == "wrong_result")
    folder = Path(wrong.reproducer)
    assert "iree_codegen.tuning_spec_mlirbc" in (folder / "dispatch.mlir").read_text()
    assert "iree_codegen.tuning_spec_mlirbc" not in (folder / "default.mlir").read_text()


@pytest.mark.parametrize("count", [1, 3])
def test_joint_executables_come_apart_again(count):
    parts = [Bench(Harness(b"m", "f", 64, ()), "d", b"x" * n, Tolerance()) for n in range(count)]
    bench = JointBench.of(parts, range(1, count + 1))
    vmfbs = [bytes([n]) * (n + 3) for n in range(count)]
    found = replace(bench, device="other").each(joined(vmfbs))
    assert [(vmfb, calls) for vmfb, _, calls in found] == list(zip(vmfbs, range(1, count + 1), strict=True))
    assert {own.device for _, own, _ in found} == {"other"}


def test_a_crash_of_the_compiler_is_told_with_the_line(tmp_path, cpu):
    text = load_script("cpu_matmul").text()
    path = tmp_path / "crash.mlir"
    path.write_text(text.replace("tile_sizes [%arg2, %arg3]", "tile_sizes [%arg2, %arg3, 3]"))
    with Workers(1) as workers, pytest.raises(TunerError, match=r"crash.mlir:\d+:\d+: transform.structured"):
        compile_with_script(load_program(matmul(64, 64, 64)), cpu, load_script(path), workers)
