"""What hurts the program is found by halves, whatever its parts promised alone."""

from dataclasses import dataclass
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.targets import parse_target
from iree_tuner.tuning.verdict import Patience, keeps_its_promise, prune
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersion

HOST = parse_target("llvm-cpu:host")
LOOK = ComparisonPlan(1, 8, 0.01)
BASE = ProgramVersion("the defaults", HOST)


@dataclass(frozen=True)
class Workload:
    name: str


@dataclass(frozen=True)
class Entry:
    number: int

    @property
    def workload(self):
        return Workload(f"workload_{self.number}")


def entry(number):
    return Entry(number)


class FakeWhole:
    """A program whose time is a sum over the entries in it; some make its results wrong."""

    def __init__(self, effects, wrong=()):
        self._effects = effects
        self._wrong = set(wrong)
        self.comparisons = 0

    def time_us(self, version):
        return 1000.0 + sum(self._effects[each.number] for each in version.entries)

    def one(self, against, version):
        if self._wrong & {each.number for each in version.entries}:
            return ProgramComparison("main", None, Agreement(False, 9.0, "differs"), "wrong results: differs")
        speedup = self.time_us(against) / self.time_us(version)
        verdict = "win" if speedup > 1.005 else "lose" if speedup < 0.995 else "tie"
        comparison = SimpleNamespace(speedup=speedup, verdict=verdict, interval=(speedup, speedup))
        return ProgramComparison("main", comparison, Agreement(True, 0.0))

    def compare(self, against, others, look):
        self.comparisons += 1
        return [self.one(against, each) for each in others]


def pruned(effects, wrong=(), steps=100, is_time=lambda: True):
    whole = FakeWhole(effects, wrong)
    version = ProgramVersion("the spec", HOST, tuple(entry(number) for number in range(len(effects))))
    found = whole.one(BASE, version)
    kept = prune(whole, version, found, BASE, LOOK, Patience(steps, is_time))
    return [each.number for each in kept.entries], whole


def test_the_one_that_hurts_is_left_out():
    kept, whole = pruned([-50, -40, 300, -30, -20, -10, -60, -70])
    assert kept == [0, 1, 3, 4, 5, 6, 7]
    assert whole.comparisons <= 3, "halves of halves"


@given(st.lists(st.sampled_from([-40, -20, 0, 60, 200]), min_size=1, max_size=12))
@settings(deadline=None)
def test_nothing_that_helps_goes_alone_and_the_program_is_no_slower(effects):
    kept, whole = pruned(effects)
    before = whole.time_us(SimpleNamespace(entries=[entry(number) for number in range(len(effects))]))
    after = whole.time_us(SimpleNamespace(entries=[entry(number) for number in kept]))
    assert after <= before
    if max(effects, default=0) >= 60 and len(effects) == 1:
        assert kept == []


def test_nothing_is_left_out_of_what_is_well():
    kept, _ = pruned([-50, -40, -30])
    assert kept == [0, 1, 2]


def test_wrong_results_are_traced_to_their_entries():
    kept, whole = pruned([-50, -40, -30, -20, -10, -60], wrong=[1, 4])
    assert kept == [0, 2, 3, 5]
    assert whole.comparisons <= 6


def test_one_wrong_entry_alone_goes():
    assert pruned([-50], wrong=[0])[0] == []


def test_the_search_is_bounded():
    kept, whole = pruned([200] * 16, steps=2)
    assert whole.comparisons == 2
    assert len(kept) == 0, "halves that hurt go whole where there is no patience to look inside"
    kept, whole = pruned([200] * 4, is_time=lambda: False)
    assert whole.comparisons == 0
    assert kept == [0, 1, 2, 3]


def test_promises():
    assert keeps_its_promise(0.1, 0.15)
    assert not keeps_its_promise(0.05, 0.15)
    assert keeps_its_promise(-0.01, 0.01), "too little to tell"
