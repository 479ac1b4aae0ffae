"""Who comes to the finals: what is verified there was not when it was screened."""

import math

from tuning.fakes import close, fake_lab, fake_search

from iree_tuner.tuning.effort import effort_named
from iree_tuner.tuning.engine import Engine, Limits
from iree_tuner.tuning.finals import play_finals
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.stop import StopRequest


def test_what_only_compiles_unverified_does_not_win():
    stop, lab = StopRequest(), fake_lab(alternate=True)
    search = fake_search(["code:1 time:50 invalid", "code:2 time:120"])
    ledger = Records(None, stop).ledger(lambda: None, lambda trial: "")
    try:
        screened = list(Engine(search, lab, Limits(2, 2, math.inf), stop, ledger).run())
        assert [trial.outcome for trial in screened] == ["ok", "ok"]
        final = play_finals(None, search, lab, effort_named("quick"), ledger)
    finally:
        close(lab)
    assert final.winner is None
    assert "could not be built a second time: the compiler refuses" in final.note
    assert sorted(trial.outcome for trial in search.trials) == ["compile_error", "ok"]
    assert search.best.time_us == 120
