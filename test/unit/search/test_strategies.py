"""What every strategy promises: those here, and those of packages that are installed."""

import math

import pytest
from amounts import amount
from grid import Grid, Outcome, at, bowl, play

from iree_tuner.search.strategy import make_strategy, strategy_names

LEARNING = ("annealing", "genetic", "local", "model", "optuna", "ranker")


def names(chosen):
    missing = set(chosen) - set(strategy_names())
    mark = pytest.mark.skip(reason="needs `pip install ./benchmarks/strategies`")
    return [pytest.param(name, marks=[mark] if name in missing else []) for name in chosen]


SEEDS = amount(5, 10)

each_strategy = pytest.mark.parametrize("name", strategy_names())
each_that_learns = pytest.mark.parametrize("name", names(LEARNING))


@each_strategy
@pytest.mark.parametrize("batch", [1, 8, 50])
def test_every_member_is_proposed_exactly_once(name, batch):
    seen = play(make_strategy(name, Grid(6), 3, at(0, 0)), bowl, 40, batch)
    # The starting point is the default's, which is measured anyway: some do not propose it.
    assert len(seen) == len(set(seen))
    assert len(seen) in (35, 36)
    assert set(seen) >= set(Grid(6).sample(36, 0)) - {at(0, 0)}


@each_strategy
def test_a_space_without_a_starting_point_is_exhausted(name):
    strategy = make_strategy(name, Grid(5), 1)
    seen = play(strategy, bowl, 10)
    assert sorted(each.items_ for each in seen) == sorted(each.items_ for each in Grid(5).sample(25, 0))
    assert strategy.ask(8) == []


@each_strategy
def test_the_same_seed_proposes_the_same(name):
    first, second = (play(make_strategy(name, Grid(40), 5), bowl, 6) for _ in range(2))
    assert first == second
    assert first != play(make_strategy(name, Grid(40), 6), bowl, 6)


@each_strategy
def test_failures_alone_stop_nobody(name):
    seen = play(make_strategy(name, Grid(6), 2, at(3, 3)), lambda assignment: math.inf, 10)
    assert len(seen) == len(set(seen))
    assert len(seen) in (35, 36)


@each_strategy
def test_asking_goes_on_before_answers_come(name):
    """Devices work in parallel: up to a whole space may be under way at once."""
    strategy = make_strategy(name, Grid(6), 4, at(2, 2))
    asked = [member for _ in range(20) for member in strategy.ask(3)]
    strategy.tell([Outcome(member, bowl(member)) for member in reversed(asked)])
    assert len(asked) == len(set(asked))
    assert len(asked) in (35, 36)
    assert strategy.ask(3) == []


@each_that_learns
def test_results_of_others_are_taken_and_not_asked_for_again(name):
    """A run begins with what earlier runs measured, and with starters."""
    strategy = make_strategy(name, Grid(6), 4)
    known = [at(x, 2) for x in range(6)]
    strategy.tell([Outcome(member, bowl(member)) for member in known])
    seen = play(strategy, bowl, 10)
    if name in ("local", "model"):  # whoever asks leaves out what is known
        seen = [member for member in seen if member not in known]
    assert len(seen) == len(set(seen)) == 30
    assert not set(seen) & set(known)


@each_that_learns
def test_what_learns_beats_shuffle_on_a_smooth_space(name):
    # A walk of single steps has 25 to go; a first generation is random.
    rounds = 8 if name in ("model", "optuna", "ranker") else 16

    def best(name, seed):
        strategy = make_strategy(name, Grid(60), seed, at(32, 24))
        return min(bowl(assignment) for assignment in play(strategy, bowl, rounds))

    wins = sum(best(name, seed) < best("shuffle", seed) for seed in range(SEEDS))
    assert wins >= 0.7 * SEEDS


@pytest.mark.parametrize("name", names(["annealing", "genetic", "optuna", "ranker", "shark"]))
def test_more_is_drawn_of_a_space_that_is_larger_than_the_pool(name, monkeypatch):
    from iree_tuner_strategies import annealing

    from iree_tuner.search import sampled_space

    monkeypatch.setattr(sampled_space.Pool.__init__, "__defaults__", (10,))
    monkeypatch.setattr(annealing, "_LONGEST", 10)
    seen = play(make_strategy(name, Grid(7), 0), bowl, 12)
    assert len(seen) == len(set(seen)) == 49


def test_failures_do_not_become_parents():
    strategy = make_strategy("local", Grid(50), 0, at(25, 25))
    asked = strategy.ask(8)
    strategy.tell([Outcome(assignment, math.inf) for assignment in asked])
    around = [abs(each["x"] - 25) + abs(each["y"] - 25) for each in strategy.ask(8)]
    assert sum(distance <= 3 for distance in around) >= 6
