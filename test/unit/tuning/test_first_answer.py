"""When the first answer is compared, and what is left out where it is the result."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.targets import parse_target
from iree_tuner.tuning import loop
from iree_tuner.tuning.loop import TuningLoop
from iree_tuner.tuning.timeline import Timeline
from iree_tuner.tuning.verdict import Verdict


@pytest.mark.parametrize(
    ("alternate", "over", "steps"),
    [
        (True, False, ["first", "prepare"]),
        (True, True, ["first"]),  # no search follows, for which defaults would be timed
        (False, False, ["prepare", "first"]),  # while it compiles
    ],
)
def test_where_compilation_and_timing_share_cores_it_comes_first(monkeypatch, alternate, over, steps) -> None:
    made = TuningLoop.__new__(TuningLoop)
    made.timeline, made.effort = Timeline(), SimpleNamespace(trials=1)
    made.lab = SimpleNamespace(settle=lambda: None, alternate=alternate, target="a target")
    made.budget = SimpleNamespace(is_over=over)
    done: list[str] = []
    for name, result in {"_find": [], "_likely": ("known", "likely"), "_time_default": None}.items():
        monkeypatch.setattr(TuningLoop, name, lambda *_, result=result: result)
    monkeypatch.setattr(TuningLoop, "at_once", lambda _: nullcontext())
    monkeypatch.setattr(TuningLoop, "_prepare", lambda _: done.append("prepare") or ["a note"])
    monkeypatch.setattr(TuningLoop, "_first_answer", lambda *_: done.append("first") or "the answer")
    monkeypatch.setattr(loop, "FlagChoice", lambda target: target)
    monkeypatch.setattr(loop, "fuses_more", lambda _: True)
    given, first, notes = made._first("given", [])
    assert (given, first, done) == ("given", "the answer", steps)
    assert notes == ("" if over else "a note")


@pytest.mark.parametrize(
    ("left_s", "stopped", "state"),
    [(9.0, False, "beaten"), (1.0, False, "not compared"), (0.0, True, "beaten")],
)
def test_it_meets_an_earlier_result_if_there_is_time(left_s, stopped, state) -> None:
    """Where it is the result, no other comparison follows."""
    win = SimpleNamespace(verdict="win", speedup=1.2)
    made = TuningLoop.__new__(TuningLoop)
    made.earlier = SimpleNamespace(
        version=SimpleNamespace(what="the earlier result"), configures=lambda _: True
    )
    made.stop, made.lab = (
        SimpleNamespace(requested=stopped),
        SimpleNamespace(target=parse_target("llvm-cpu:host")),
    )
    made.effort = SimpleNamespace(program_rounds=8, program_batch_s=0.0)
    made.budget = SimpleNamespace(left_s=left_s, least_verdict_s=lambda _: 3.0, comparison_s=lambda *_: 3.0)
    answer, known = (ProgramComparison("main", win, Agreement(True, 0.0)) for _ in range(2))
    asked = []

    def compare(given, others, look, rival):
        asked.extend(others)
        return replace(answer, over_rival=win), known

    made.versions = SimpleNamespace(compare=compare, compared=lambda *_: None)
    version = SimpleNamespace(what="more kernels", entries=())
    first = Verdict(SimpleNamespace(mending=()), version, answer)
    _, found = made._against_earlier(first, "")
    assert found.state == state
    assert asked == ([version, made.earlier.version] if state == "beaten" else [])
