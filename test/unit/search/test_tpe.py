"""Optuna behind ask and tell; most of it is in test_strategies, with all others."""

import numpy as np
import pytest
from grid import Grid, Outcome, at, bowl, play

optuna = pytest.importorskip("optuna", reason="needs `pip install ./benchmarks/strategies`")
tpe = pytest.importorskip("iree_tuner_strategies.tpe", reason="needs `pip install ./benchmarks/strategies`")


def test_the_sampler_is_told_where_members_lie():
    strategy = tpe.Optuna(Grid(8), 0, at(0, 0))
    play(strategy, bowl, 4)
    done = strategy._study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    assert len(done) == 33  # the starting point too
    members = Grid(8).sample(64, 0)
    points = {tuple(point) for point in strategy._axes.of(Grid(8).encode(members))}
    assert {tuple(trial.params.values()) for trial in done} <= points
    assert len({tuple(trial.params.values()) for trial in done[1:]}) == 32


def test_failures_are_bad_times():
    strategy = tpe.Optuna(Grid(5), 0)
    strategy.tell([Outcome(member, np.inf) for member in strategy.ask(2)])
    done = strategy._study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    assert [trial.value for trial in done] == [3.0, 3.0]


def test_features_that_say_nothing_are_no_parameters():
    class Flat(Grid):
        def encode(self, assignments):
            return np.ones((len(assignments), 2))

    assert len(play(tpe.Optuna(Flat(4), 0), bowl, 3)) == 16


def test_nothing_is_printed_or_warned_of(capfd, recwarn):
    play(tpe.Optuna(Grid(6), 0, at(1, 1)), bowl, 4)
    assert capfd.readouterr() == ("", "")
    assert [str(each.message) for each in recwarn] == []
