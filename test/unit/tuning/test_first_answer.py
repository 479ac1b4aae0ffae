"""When the first answer is compared, and what is left out where it is the result."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from iree_tuner.tuning import loop
from iree_tuner.tuning.loop import TuningLoop
from iree_tuner.tuning.timeline import Timeline


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
