"""When the searches of one choice of flags have to end."""

import math
import time
from types import SimpleNamespace

import pytest

from iree_tuner.tuning import arm as arms
from iree_tuner.tuning.observer import Silent


@pytest.fixture
def deadlines(monkeypatch):
    """Deadlines that searches were given."""
    found: list[float] = []
    monkeypatch.setattr(arms, "Entrants", lambda *_: SimpleNamespace(results=[], left=list, campaigns=[]))
    monkeypatch.setattr(
        arms, "search_by_gain", lambda entrants, trials, deadline, *_, **__: found.append(deadline)
    )
    monkeypatch.setattr(arms, "_finals", lambda *_: [])
    return found


def tune(end, before_s=0.0, budget_s=None):
    effort = SimpleNamespace(batch=4)
    options = SimpleNamespace(self_test=False, effort=effort, budget_s=budget_s, before_s=before_s)
    arm = SimpleNamespace(tasks=[], weights_us={}, lab=SimpleNamespace(alternate=True), roofline=None)
    arms.tune_arm(arm, SimpleNamespace(stop=None), options, end, Silent())


def test_without_a_budget_searches_have_no_deadline(deadlines):
    tune(math.inf)
    tune(math.inf, before_s=10.0)
    assert deadlines == [math.inf, math.inf]


def test_finals_get_their_part_of_all_the_time(deadlines):
    now = time.monotonic()
    tune(now + 100.0)
    tune(now + 100.0, before_s=50.0)
    assert deadlines == [pytest.approx(now + 70.0, abs=5.0), pytest.approx(now + 55.0, abs=5.0)]
