"""Optuna behind ask and tell; most of it is in test_strategies, with all others."""

import subprocess
import sys

import numpy as np
import pytest
from grid import Grid, Outcome, at, bowl, play

from iree_tuner.errors import TunerError
from iree_tuner.search.plug_optuna import Optuna


def test_without_optuna_there_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(TunerError) as caught:
        Optuna(Grid(3), 0)
    assert str(caught.value) == "Optuna is not installed (pip install 'iree-tuner[optuna]')"


def test_optuna_is_imported_only_by_those_who_use_it():
    code = "import iree_tuner.search.plug_optuna, sys; sys.exit('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestInstalled:
    @pytest.fixture(autouse=True)
    def optuna(self):
        return pytest.importorskip("optuna", reason="needs `pip install 'iree-tuner[optuna]'`")

    def test_the_sampler_is_told_where_members_lie(self, optuna):
        strategy = Optuna(Grid(8), 0, at(0, 0))
        play(strategy, bowl, 4)
        done = strategy._study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
        assert len(done) == 33  # the starting point too
        members = Grid(8).sample(64, 0)
        points = {tuple(point) for point in strategy._axes.of(Grid(8).encode(members))}
        assert {tuple(trial.params.values()) for trial in done} <= points
        assert len({tuple(trial.params.values()) for trial in done[1:]}) == 32

    def test_failures_are_bad_times(self, optuna):
        strategy = Optuna(Grid(5), 0)
        strategy.tell([Outcome(member, np.inf) for member in strategy.ask(2)])
        done = strategy._study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
        assert [trial.value for trial in done] == [3.0, 3.0]

    def test_features_that_say_nothing_are_no_parameters(self):
        class Flat(Grid):
            def encode(self, assignments):
                return np.ones((len(assignments), 2))

        assert len(play(Optuna(Flat(4), 0), bowl, 3)) == 16

    def test_nothing_is_printed_or_warned_of(self, capfd, recwarn):
        play(Optuna(Grid(6), 0, at(1, 1)), bowl, 4)
        assert capfd.readouterr() == ("", "")
        assert [str(each.message) for each in recwarn] == []
