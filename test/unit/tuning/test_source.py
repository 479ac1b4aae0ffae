"""Sources of candidates: what they find is searched, compared, and part of the result."""

import shutil
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from iree_tuner_test_plugin.pipelines import PIPELINES, Pipelines
from paired import compare_pairs

from iree_tuner import tune_module
from iree_tuner.cli import tune
from iree_tuner.cli.main import run
from iree_tuner.device.numerics import Agreement
from iree_tuner.errors import TunerError
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.program.source import load_program
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.io import shipped_specs
from iree_tuner.targets import parse_target
from iree_tuner.targets.find import flags_for_options
from iree_tuner.tune import tune_program
from iree_tuner.tuning import loop
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.earlier import read_earlier
from iree_tuner.tuning.flags import (
    FlagChoice,
    FlagChoices,
    Flags,
    keep_choices,
    option,
    try_changes,
    unfinished_choices,
)
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.source import CandidateSource, Found, flags_of, known_sources, usual_sources
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import (
    Change,
    ComparisonPlan,
    Compiling,
    ProgramVersion,
    ProgramVersions,
    applied,
)

MATMUL = """
func.func @main(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x48xf32>, tensor<48x64xf32>)
       outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
"""

HOW = {
    "effort": "smoke", "device": "local-task", "db": None, "candidates": 1, "strategy": "shuffle",
    "profile": False,
}  # fmt: skip


class Renamed(CandidateSource):
    """Changes that no flag makes: the program's module gets a name."""

    name = "names"
    noun = "name"

    def apply(self, to, changes, workers, folder):
        text = to.program.data.decode()
        for each in changes:
            text = text.replace("@main", f"@main_{each.how}")
        return replace(to, program=replace(to.program, data=text.encode()))


class FindsVersions(Pipelines):
    """A pipeline with a given text."""

    def __init__(self, text):
        self.text = text

    def begin(self, run):
        assert run.program.data
        return self.found

    def found(self):
        return AnyVersions()

    def alternatives(self, run):
        return ()

    def flags(self, changes):
        return (f"--iree-preprocessing-pass-pipeline={self.text}",)


class AnyVersions(Found):
    applies = True
    notes = ("one version",)

    def versions(self, run, tuned, bases):
        return [ProgramVersion("another", tuned.target, tuned.reached, (Change("pipelines", "", "any"),))]


def test_those_of_installed_packages_are_known_and_used_where_they_are_usual():
    of_rooms = {"kernels"} if find_spec("iree_tuner.kernels") else set()  # test/core.py has no such room
    assert {"flags", "pipelines", "runtime"} | of_rooms <= set(known_sources())
    usual = {each.name for each in usual_sources("llvm-cpu")}
    assert not usual & {"flags", "pipelines", "runtime"}, "who asks for flags has them by `try_flags`"
    assert "kernels" not in {each.name for each in usual_sources("llvm-cpu", without=("kernels",))}


def test_alternatives_are_compared_and_told(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(MATMUL)
    how = ("--effort", "smoke", "--candidates", "1", "--strategy", "shuffle", "--no-db", "--no-profile")
    assert run(["tune", "p.mlir", *how, "--with", "pipelines"]) == 0
    out = " ".join(capsys.readouterr().err.split())
    for name in PIPELINES:
        assert f"program, {name} vs. default: " in out
    assert "no pipeline applies" not in out


FIRST = "another (first answer)"
GENERIC = "builtin.module(util.func(linalg-generalize-named-ops))"


def test_a_stopped_run_keeps_the_first_answer(monkeypatch):
    """As if the version before the search had won, and the verdict would take long."""

    class Found(FindsVersions):
        def begin(self, run):
            self.stop = run.stop
            return super().begin(run)

    source, compared = Found(GENERIC), []

    def compare(self, against, others, look, rival=None):
        compared.extend(each.what for each in others)
        source.stop.request()
        twice = compare_pairs([([2.0] * 20, [1.0] * 20)])
        return [ProgramComparison("main", twice, Agreement(True, 0.0)) for _ in others]

    monkeypatch.setattr(ProgramVersions, "compare", compare)
    monkeypatch.setattr(loop, "_SOON_S", -1.0)
    result = tune_module(MATMUL, sources=[source], **HOW)
    assert compared == [FIRST], "nothing more is compared"
    assert result.interrupted
    assert [each.how for each in result.changes] == ["any"]
    assert result.whole.comparison.speedup == 2.0


def test_where_no_time_is_left_for_a_search_the_first_answer_is_the_last(monkeypatch):
    compared = []

    def compare(self, against, others, look, rival=None):
        compared.extend(each.what for each in others)
        twice = compare_pairs([([2.0] * 20, [1.0] * 20)])
        return [ProgramComparison("main", twice, Agreement(True, 0.0)) for _ in others]

    monkeypatch.setattr(ProgramVersions, "compare", compare)
    monkeypatch.setattr(Budget, "is_over", True)
    result = tune_module(MATMUL, sources=[FindsVersions(GENERIC)], **HOW)
    assert compared == [FIRST]
    assert [each.note for each in result.results] == ["not tuned: out of time"]
    assert result.whole.comparison.speedup == 2.0
    assert not result.interrupted


@pytest.mark.parametrize(("ratio", "state"), [(1.0, "kept"), (2.0, "beaten")])
def test_a_first_answer_that_is_the_last_meets_an_earlier_result(monkeypatch, tmp_path, ratio, state):
    """`ratio` is that of the speeds; the program is compiled with the earlier spec, which matches nothing."""
    compared = []

    def compare(self, against, others, look, rival=None):
        compared.append([each.what for each in others])
        twice, over = (compare_pairs([([each] * 20, [1.0] * 20)]) for each in (2.0, ratio))
        found = ProgramComparison("main", twice, Agreement(True, 0.0), over_rival=over if rival else None)
        return [found for _ in others]

    monkeypatch.setattr(ProgramVersions, "compare", compare)
    monkeypatch.setattr(Budget, "is_over", True)
    shutil.copy(next(each for each in shipped_specs("llvm-cpu")), spec := tmp_path / "a.spec.mlir")
    options = TuningOptions(**HOW)
    earlier = read_earlier(spec, None, options.targets[0])
    how = {"sources": [FindsVersions(GENERIC)], "earlier": earlier}
    result = tune_program(load_program(MATMUL), options, **how)
    assert compared == [[FIRST], [FIRST, "the earlier result"]]
    assert result.earlier.state == state
    assert result.keeps_earlier == (state == "kept")
    assert [each.source for each in result.changes] == ["earlier_spec" if state == "kept" else "pipelines"]


@pytest.mark.parametrize(
    ("speeds", "fits", "speedup", "how"),
    [
        ({"later": 1.5}, 9, 3.0, "first"),  # it is the fastest in turns with what was found later, too
        ({"later": 3.5}, 9, 3.5, "later"),
        ({"first": 1.0, "later": 1.0}, 9, None, ""),  # what it gained first was the machine's
        ({"later": 1.5}, 1, 4.0, "first"),  # there is no time for one more version
    ],
)
def test_the_first_answer_takes_turns_with_what_is_found_later(speeds, fits, speedup, how, monkeypatch):
    """It gains 4.0x at first, and 3.0x in the last comparison unless `speeds` says otherwise."""

    class Later(AnyVersions):
        def versions(self, run, tuned, bases):
            name = "later" if compared else "first"
            return [ProgramVersion(name, tuned.target, tuned.reached, (Change("pipelines", "", name),))]

    class Source(FindsVersions):
        def found(self):
            return Later()

    def compare(self, against, others, look, rival=None):
        names = [each.changes[0].how if each.changes else "" for each in others]
        ratios = [speeds.get(name, 3.0) if compared else 4.0 for name in names]
        compared.append(names)
        times = [compare_pairs([([ratio] * 20, [1.0] * 20)]) for ratio in ratios]
        return [ProgramComparison("main", each, Agreement(True, 0.0)) for each in times]

    compared = []
    monkeypatch.setattr(ProgramVersions, "compare", compare)
    monkeypatch.setattr(Budget, "versions_at_the_end", fits)
    result = tune_module(MATMUL, sources=[Source(GENERIC)], **HOW)
    assert compared[0] == ["first"]
    assert ("first" in compared[1]) == (fits > 1)
    assert [each.how for each in result.changes] == [how] * bool(how)
    assert result.speedup == (speedup and pytest.approx(speedup))
    assert ("the first answer is faster" in result.note) == (fits == 1)


@pytest.mark.parametrize("alternate", [True, False])
def test_what_the_check_of_entries_says_is_told(alternate, monkeypatch):
    """Also where the versions are compiled meanwhile."""

    class Found(FindsVersions):
        def begin(self, run):
            run.lab.alternate = alternate
            return super().begin(run)

    monkeypatch.setattr(loop, "begin_matching", lambda entries, *_: lambda: (entries, ["a problem"]))
    assert "a problem" in tune_module(MATMUL, sources=[Found(GENERIC)], **HOW).note


def test_without_a_search_what_is_known_is_compared_once():
    how = {"effort": "instant", "device": "local-task", "db": None}
    result = tune_module(MATMUL, sources=[FindsVersions(GENERIC)], **how)
    assert [each.what for each in result.steps] == ["another"]
    assert not any(each.trials for each in result.results)


def test_what_a_source_changes_by_flags_is_recorded_in_the_spec(monkeypatch):
    """As if the version had won."""
    from iree_tuner.tuning import verdict

    monkeypatch.setattr(verdict._Judged, "accepted", property(lambda one: bool(one.version.changes)))
    monkeypatch.setattr(
        verdict, "_chosen", lambda judged: next(each for each in judged if each.version.changes)
    )
    result = tune_module(MATMUL, sources=[FindsVersions(GENERIC)], **HOW)
    flag = f"--iree-preprocessing-pass-pipeline={GENERIC}"
    assert [each.source for each in result.changes] == ["pipelines"]
    assert result.flags[-1] == flag
    assert flag in read_flags(result.spec)
    assert result.target.flags.count(flag) == 1
    assert result.vmfb()
    assert result.record().whole.flags[-1] == flag


def test_the_program_is_tuned_with_the_alternative_that_wins(monkeypatch):
    """As if generalizing had won: its dispatches are others, and the spec is for these."""

    def choose(run, *_):
        given = FlagChoice(run.lab.target)
        generalized = next(each for each in Pipelines().alternatives(run) if each.how == "generalize")
        best = FlagChoice(run.lab.target, None, given, (generalized,))
        return FlagChoices((best, given), 0.0, 0.0), ""

    monkeypatch.setattr(loop, "choose_flags", choose)
    monkeypatch.setattr(loop, "worth_tuning", lambda choices: choices[:1])
    result = tune_module(MATMUL, sources=[Pipelines()], **HOW)
    ((workload),) = [each.task.workload for each in result.results]
    assert workload.family == "contraction"
    steps = {each.what for each in result.steps}
    assert "generalize" in steps
    assert not any(each.startswith("default flags") for each in steps)


def test_flags_that_win_are_options_of_the_target(monkeypatch):
    """As if data tiling had won."""
    from iree_tuner.tuning import verdict

    def choose(run, *_):
        given = FlagChoice(run.lab.target)
        best = FlagChoice(run.lab.target, None, given, (option(run.lab.target, "data-tiling"),))
        return FlagChoices((best, given), 0.0, 0.0), ""

    monkeypatch.setattr(loop, "choose_flags", choose)
    monkeypatch.setattr(loop, "worth_tuning", lambda choices: choices[:1])
    monkeypatch.setattr(verdict._Judged, "accepted", property(lambda one: bool(one.version.changes)))
    result = tune_module(MATMUL, sources=[Flags()], **HOW)
    tiled = parse_target("llvm-cpu:host+data-tiling")
    assert str(result.target) == str(tiled)
    assert result.target.flags == tiled.flags
    assert result.flags == flags_for_options(tiled)
    assert set(result.flags) <= set(read_flags(result.spec))
    assert not result.changes, "the target has them"
    assert result.vmfb()


def test_interrupted_choices_with_changes_are_taken_over(tmp_path):
    target = parse_target("llvm-cpu:host")
    changes = tuple(Pipelines().alternatives(None))
    every, given = [option(target, "data-tiling"), *changes], FlagChoice(target)
    best = FlagChoice(target, compare_pairs([([2.0] * 20, [1.0] * 20)]), given, changes[:1])
    path = str(tmp_path / "runs.db")
    with open_records(path, "m.mlir", {}, stop=StopRequest(), fresh=False) as records:
        keep_choices(records, "key", FlagChoices((best, given), 1.0, 2.0))
        found = unfinished_choices(records, "key", target, every)
        assert found is not None
        assert found.choices == (best, given)
        assert unfinished_choices(records, "key", target, every[:1]) is None, (
            "the source is not used any more"
        )


def test_alternatives_are_an_axis_of_their_own():
    """Each is added to the best so far, and no second one is added to it."""

    class Whole:
        def __init__(self):
            self.compared = []

        def compare(self, against, others, look, rival=None):
            del look
            self.compared.append((against.what, [each.what for each in others]))
            fast = {"data-tiling": 2.0, "data-tiling+b": 1.5}
            return [
                SimpleNamespace(comparison=compare_pairs([([fast.get(each.what, 1.0)] * 20, [1.0] * 20)]))
                for each in others
            ]

    whole, target, look = Whole(), parse_target("llvm-cpu:host"), ComparisonPlan(1, 8, 0.01)
    changes = [option(target, "data-tiling"), *(Change("x", "", name) for name in "ab")]
    best, *_ = try_changes(
        FlagChoice(target), changes,
        lambda base, others: whole.compare(base.version, [each.version for each in others], look),
    )  # fmt: skip
    assert best.name == "data-tiling+b"
    assert [each.how for each in best.version.changes] == ["data-tiling", "b"]
    assert whole.compared == [
        ("default flags", ["data-tiling", "a", "b"]), ("data-tiling", ["data-tiling+a", "data-tiling+b"]),
    ]  # fmt: skip


def test_a_source_that_cannot_look_and_a_version_that_does_not_compile_cost_nothing_else():
    class Blind(Pipelines):
        name = "blind"

        def begin(self, run):
            def found():
                raise TunerError("it is dark")

            return found

        def alternatives(self, run):
            return ()

    class Unknown(FindsVersions):
        def flags(self, changes):
            return ("--no-such-flag",)

    result = tune_module(MATMUL, sources=[Blind(), Unknown("")], **HOW)
    assert "no blind were compared: it is dark" in result.note
    errors = [
        each.error for each in result.steps if each.what.startswith("another")
    ]  # the first answer, and the last
    assert errors
    assert all(each.startswith("does not compile") for each in errors)
    assert not result.changes


def test_each_source_applies_its_own_changes(compilers, tmp_path, cpu):
    program = load_program(MATMUL)
    changes = (Change("names", "", "x"), Change("pipelines", "", "generalize"), Change("names", "", "y"))
    to = applied(Compiling(program, cpu), changes, [Renamed(), Pipelines()], compilers, tmp_path)
    assert b"@main_y_x" in to.program.data
    assert to.target.flags == (*cpu.flags, *Pipelines().flags(changes[1:2]))
    assert flags_of(changes, [Renamed(), Pipelines()]) == Pipelines().flags(changes[1:2])
    assert applied(Compiling(program, cpu), changes, [], compilers, tmp_path).program is program


def test_versions_are_equal_that_compile_to_the_same(cpu):
    one = ProgramVersion("one", cpu, (), (Change("kernels", "a", "k=1", "code", made=object()),))
    assert one == ProgramVersion("other", cpu, (), (Change("kernels", "a", "k=1", "code", made=object()),))
    assert one != ProgramVersion("one", cpu, (), (Change("kernels", "a", "k=1", "other"),))
    assert one != ProgramVersion("one", cpu)


@pytest.mark.parametrize(
    ("options", "outputs", "names"),
    [
        ({}, {}, {"flags", "runtime"}), ({"effort": "smoke"}, {}, set()),
        ({}, {"without": ("flags",)}, {"runtime"}), ({}, {"without": ("runtime",)}, {"flags"}),
        ({"effort": "smoke"}, {"also": ("flags",)}, {"flags"}), ({"try_flags": False}, {}, set()),
        ({"effort": "smoke", "try_flags": True}, {"without": ("runtime",)}, {"flags"}),
        ({"try_flags": False}, {"also": ("runtime",)}, {"runtime"}),
        ({"pipelines": ("TileAndFuse",)}, {}, {"flags", "runtime"}),
    ],
)  # fmt: skip
def test_the_command_takes_flags_like_other_sources(options, outputs, names):
    found = [each.name for each in tune._sources(TuningOptions(**options), tune.Outputs(**outputs))]
    assert {each for each in found if each != "kernels"} == names
    assert len(found) == len(set(found))


@pytest.mark.parametrize("flag", ["--with", "--without"])
def test_an_unknown_source_is_told(flag, tmp_path, capsys):
    (tmp_path / "p.mlir").write_text(MATMUL)
    assert run(["tune", str(tmp_path / "p.mlir"), flag, "pipes"]) == 2
    assert f"{flag}: unknown source 'pipes'" in capsys.readouterr().err
