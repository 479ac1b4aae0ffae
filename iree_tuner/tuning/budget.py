"""The plan of a run's time: later steps are predicted from measurements, and the search gets the rest.

A budget is a promise: a run ends within it, and at least half of it goes into candidates, three fifths from
three minutes up, unless the program takes too long to compile and to run for that. Each step before the
search has a part of the budget; what comes after it (finals, proof, the program's verdict) is predicted from
how long the program takes to compile and to run, and the search ends in time for it. Nothing optional starts
that would not end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from iree_tuner.compiler.worker import TIMEOUT_S
from iree_tuner.measure.program import SCREENED
from iree_tuner.measure.statistics import FAR_PAIRS, LEAST_PAIRS
from iree_tuner.tuning.finals import FinalPlan
from iree_tuner.tuning.options import Effort
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.timeline import APART, Timeline, TimeUse

_SHORT_S = 300.0

_FLAGS_PART, _FLAGS_S = 0.035, 4.0
_PROFILE_PART, _MOST_PROFILE_PART = 0.07, 0.15  # the shortest one (`tuning.reading`) fits into a minute
PROFILE_AGAIN = 1.5
"""Factor of the time of a profile that is kept for another one."""

_LEAST_FINDING_S, _FINDING_PART = 30.0, 0.4
_SEARCH_PART, _SEARCH_PART_LONG, _LONG_S = 0.5, 0.6, 180.0
_FINALS_PART, _ROUNDS_PART, _ROUNDS_S = 0.08, 0.03, 1.5
_MOST_FINALS_S, _MOST_VERDICT_S = 60.0, 60.0
_END_S = 1.0
"""To write everything down and stop the workers."""
_SAVING_S = 1.5
"""To write changes of sources, too: a worker is started for their target."""

LEAST_FINAL_S = 0.75
"""A final takes no less, without its check: the final of one finalist, which is only compared once."""
_USUAL_FINAL_S = 2 * LEAST_FINAL_S  # one finalist of several is chosen first
_ONE_FINAL_PART = 0.025  # of the budget
_BESIDE = 1.4  # factor of a compilation's time during others, whose memory and caches it shares
_LEAST_VERDICT_S = 2.0
FIRST_S, _FIRST_PART = 1.0, 0.06
"""Of rounds for the first answer, in seconds; the most part of the budget for it."""
_LONG_CHECK_S, _MOST_FIRST_PART = 3.0, 0.25
_LITTLE_S, _SHORT_FIRST_PART = 10.0, 0.4  # where a search could try little, and this tries most
_BASELINES_PART = 0.3
_COLD_CHECK_S = 0.5
_LEAST_ROUNDS_S = 0.5
_LEAST_VERSIONS, _VERSIONS_PART = 2, 0.12
_WORTH_A_SEARCH = 0.1
_LEAST_ROUNDS = SCREENED + LEAST_PAIRS
_COMPARED_PART = 0.7  # of a comparison's time: the rest is for what is built and checked before the next
_QUICK_ROUNDS = 320
_AFTER_PART, _AFTER_S = 0.05, 13.0  # for finals and verdict, where they can do with it
_APART_BUILDS, _APART_PART, _MOST_APART_PART = 2.2, 0.05, 0.08
_APART_RUNS, _APART_RATE = 7.0, 2.5e9  # of each dispatch; bytes a second
_RUNTIME_PART, _MOST_RUNTIME_S, _MOST_RUNTIME_PART = 0.02, 15.0, 0.05
_MARGIN = 1.1  # what is predicted takes a little longer


@dataclass
class MeasuredTimes:
    """The known times of the program itself so far, in seconds; 0 where nothing was measured yet."""

    build_s: float = 0.0  # of the whole program, alone in a worker
    check_s: float = 0.0  # to load one version, run it on all inputs and compare its results
    # to load the program and run it on all inputs: used for `check_s` until that is known
    loading_s: float = 0.0
    parameters_s: float = 0.0  # to load the parameters, which all versions share
    invocation_s: float = 0.0  # one invocation of the program
    version_s: float = 0.0  # one of a version of it; 0 where none was compared yet
    parts_check_s: float = 0.0  # to check the program's dispatches alone: used until the others are known
    parts_bytes: float = 0.0  # read and written by its dispatches in one invocation
    profile_s: float = 0.0  # of the last profile
    # to choose the changes of all sources once, and to make their code: `build_s` is used until that is known
    choices_s: float = 0.0


@dataclass
class Budget:
    """The time of one run."""

    total_s: float  # seconds for everything; infinite without a budget
    timeline: Timeline  # of the run, which began when the budget did
    jobs: int
    stop: StopRequest  # after a request, every step is as short as possible
    measured: MeasuredTimes = field(default_factory=MeasuredTimes)  # times of the program
    sources: int = 0  # number of them that may change the program
    runtime_flags: int = 0  # number compared at the end
    compiled: bool = False  # whether the result is compiled once more for the caller
    profiled: bool = False  # whether the result is profiled, too, as the program was

    @property
    def limited(self) -> bool:
        return self.total_s < math.inf

    @property
    def is_short(self) -> bool:
        """Whether there is no time for steps that only explain the result."""
        return self.total_s < _SHORT_S

    @property
    def end(self) -> float:
        """A time of the clock."""
        return self.timeline.began + self.total_s

    @property
    def left_s(self) -> float:
        return self.end - self.timeline.clock()

    @property
    def _end_s(self) -> float:
        compiling_s = self.compiled * (_SAVING_S + self.measured.build_s)
        profile_s = self.profiled * PROFILE_AGAIN * self.measured.profile_s
        profile_s *= profile_s <= _PROFILE_PART * self.total_s  # a longer one would cost the search too much
        return _END_S + _SAVING_S * (self.sources > 0) + compiling_s + profile_s

    @property
    def is_over(self) -> bool:
        """Whether there is no time for a search of a tenth, and for the least verdict after it."""
        return self.limited and self._before_the_least_s < _WORTH_A_SEARCH * self.total_s

    @property
    def _before_the_least_s(self) -> float:
        """The time until the least verdict has to begin."""
        return self.left_s - (self.least_verdict_s(1) + self.proof_s + self._end_s)

    @property
    def _check_s(self) -> float:
        return self.measured.check_s or self.measured.loading_s or self.measured.parts_check_s

    @property
    def finding_s(self) -> float:
        """The time to find changes of a program: without them there is still a search."""
        return min(TIMEOUT_S, max(_LEAST_FINDING_S, _FINDING_PART * self.total_s))

    def flags_until(self) -> float:
        """When flags have to be chosen."""
        return self.timeline.clock() + _FLAGS_S + _FLAGS_PART * self.total_s

    def versions_that_fit(self, until: float, rounds_s: float) -> float:
        """How many more versions of the program can be compiled, checked and compared by a time."""
        least_s = _LEAST_ROUNDS * self.measured.invocation_s
        left_s = until - self.timeline.clock() - max(rounds_s, least_s)
        each_s = _BESIDE * self.measured.build_s / self.jobs + self._check_s + least_s
        return left_s / each_s if each_s > 0 and self.limited else math.inf

    def first_fits(self, compiles_alone: bool) -> bool:
        """Whether a first answer costs little: a comparison with the default, and compiling, if alone.

        It may cost more where a version takes seconds to load and to check: there a search can try little,
        and what versions take is known from then on. Where there is no time for a search, it is the result.
        """
        build_s = self.measured.build_s if compiles_alone else 0.0
        part = _FIRST_PART if self._check_s < _LONG_CHECK_S else _MOST_FIRST_PART
        most_s = max(part * self.total_s, min(_LITTLE_S, _SHORT_FIRST_PART * self.total_s))
        little = build_s + self._check_s + FIRST_S <= most_s
        return not self.limited or little or self.is_over

    def baselines_until(self) -> float:
        """When no more defaults are measured before the search, if nothing says which ones matter."""
        spare_s = self._before_the_least_s - _WORTH_A_SEARCH * self.total_s if self.limited else math.inf
        return self.timeline.clock() + min(_BASELINES_PART * self.total_s, spare_s)

    def may_be_cold(self, on_host: bool) -> bool:
        """Whether the next check may be much shorter: drivers keep what they compile at the first one."""
        return self.limited and not on_host and self._check_s > _COLD_CHECK_S

    def profile_fits(self, predicted_s: float, instead_s: float = 0.0) -> bool:
        """Whether a profile is worth its time; it may take longer where it saves `instead_s`."""
        part = _PROFILE_PART if predicted_s > instead_s else _MOST_PROFILE_PART
        return not self.limited or predicted_s <= part * self.total_s

    def search_until(
        self, versions: int, workloads: int, checks_s: float = 0.0, begun: float = math.inf
    ) -> float:
        """When the search has to end. It gets its part of the budget, unless necessary steps would not fit.

        Args:
            versions: of the program to compare at the end, in addition to the one that is built already.
            workloads: number of workloads with finals; with 0, only what a first one would need is kept.
            checks_s: to check the results of their winners.
            begun: when the search began.
        """
        if not self.limited:
            return math.inf
        if not workloads:
            first_s = LEAST_FINAL_S + self.least_verdict_s(max(1, versions - 1)) + self.proof_s + self._end_s
            return max(self.search_until(versions, 1, checks_s, begun), self.end - _MARGIN * first_s)
        wanted_s = self.verdict_s(versions) + self.finals_s(workloads)
        least_s = self.least_verdict_s(versions) + min(workloads, 2) * _USUAL_FINAL_S
        most_s = _AFTER_S + _AFTER_PART * self.total_s
        after_s = sum((
            max(least_s, min(wanted_s, most_s)), checks_s, self.proof_s, self.apart_s, self._runtime_s,
            self._end_s,
        ))  # fmt: skip
        least_s += self.proof_s + _FINALS_PART * self.total_s + self._end_s
        part = _SEARCH_PART_LONG if self.total_s >= _LONG_S else _SEARCH_PART
        its_part = begun + part * self.total_s if begun < math.inf else -math.inf
        return max(self.end - _MARGIN * after_s, min(its_part, self.end - _MARGIN * least_s))

    def search_again_until(self, versions: int, finals_s: float) -> float:
        """When a search has to end that goes on after finals, which took less than predicted; 0 without.

        Args:
            versions: of the program to compare at the end, of which a verdict of few rounds is kept.
            finals_s: what the finals have taken, and will take once more at most.
        """
        after_s = self.least_verdict_s(versions) + self.proof_s + self.apart_s
        spare_s = self.left_s - self._end_s - _MARGIN * (after_s + finals_s)
        worth = self.limited and not self.stop.requested and spare_s >= _WORTH_A_SEARCH * self.total_s
        return self.timeline.clock() + spare_s if worth else 0.0

    @property
    def apart_s(self) -> float:
        """Kept to check dispatches in the program; 0 where that would cost too much."""
        return self._apart_s if self._apart_s <= _APART_PART * self.total_s else 0.0

    def apart_fits(self, after_s: float) -> bool:
        """Whether there is time for that, or to find the faulty dispatches, before steps of `after_s`."""
        most_s = min(_MOST_APART_PART * self.total_s, self.left_s - after_s)
        return not self.limited or self._apart_s < most_s

    def explanation_fits(self, use: TimeUse) -> bool:
        """Whether there is time to explain why an unused version is wrong.

        Checks and explanations share a part of the budget. An explanation takes as long as the checks took.
        """
        left_s = min(_MOST_APART_PART * self.total_s - use.checked_s, self.left_s)
        return not self.limited or max(self._apart_s, use.seconds().get(APART, 0.0)) < left_s

    @property
    def _apart_s(self) -> float:
        """To take two versions apart, and to run their dispatches on values from the host."""
        builds_s = _APART_BUILDS / min(self.jobs, 2) * self.measured.build_s
        return builds_s + _APART_RUNS * (self.measured.invocation_s + self.measured.parts_bytes / _APART_RATE)

    @property
    def proof_s(self) -> float:
        """To check what the spec matches, for which the program is compiled half the way.

        Also to choose what sources change; what is left for the spec then is checked during the comparison.
        """
        choices_s = (self.measured.choices_s or self.measured.build_s) if self.sources else 0.0
        return 0.6 * self.measured.build_s + choices_s

    @property
    def _runtime_s(self) -> float:
        wanted_s = self._runtimes_s(self.runtime_flags)
        return wanted_s if wanted_s <= _MOST_RUNTIME_PART * self.total_s else 0.0

    def runtime_fits(self, flags: int) -> bool:
        """Whether there is time to compare this number of runtime flags."""
        again_s = flags * self.measured.parameters_s
        affordable = not self.limited or again_s <= _MOST_RUNTIME_PART * self.total_s
        return affordable and self._runtimes_s(flags) < self.left_s - self._end_s

    def runtime_rounds_s(self, flags: int) -> float:
        """To compare this number of runtime flags in turns, once all are loaded and checked."""
        if not flags:
            return 0.0
        least_s = LEAST_PAIRS * (flags + 1) * max(_LEAST_ROUNDS_S / LEAST_PAIRS, self.measured.invocation_s)
        part_s = _RUNTIME_PART * self.total_s if self.limited else _MOST_RUNTIME_S
        return max(least_s, min(part_s, _MOST_RUNTIME_S))

    def _runtimes_s(self, flags: int) -> float:
        each_s = self._check_s + self.measured.parameters_s  # its device has parameters of its own
        return self.runtime_rounds_s(flags) + flags * each_s

    def finals_s(self, workloads: int) -> float:
        """For all finals together."""
        most_s = min(_MOST_FINALS_S, max(_USUAL_FINAL_S, _ONE_FINAL_PART * self.total_s))
        return min(workloads * most_s, max(_FINALS_PART * self.total_s, min(workloads, 2) * _USUAL_FINAL_S))

    def after_finals_s(self, versions: int, workloads: int, checks_s: float) -> float:
        """Kept for the steps after the finals: more than the least rounds of a verdict if there is time."""
        rest_s = self.proof_s + self.apart_s
        left_s = self.left_s - self._end_s - self.finals_s(workloads) - checks_s
        least_s, wanted_s = self.least_verdict_s(versions) + rest_s, self.verdict_s(versions) + rest_s
        return max(least_s, min(wanted_s, left_s))

    def least_verdict_s(self, versions: int) -> float:
        """For a verdict of few rounds."""
        rounds_s = FAR_PAIRS * self._round_s(versions)
        return self.versions_s(versions, 1) + max(_LEAST_VERDICT_S, rounds_s)

    def verdict_s(self, versions: int) -> float:
        """For the verdict: compiling, checking, and comparing in turns, at one place of the code."""
        least_s = LEAST_PAIRS * self._round_s(versions)
        return self.versions_s(versions, 1) + max(self._rounds_s(versions), least_s)

    def _round_s(self, versions: int) -> float:
        """One invocation of the program, and one of each version, which may be much faster."""
        return self.measured.invocation_s + versions * (self.measured.version_s or self.measured.invocation_s)

    def _rounds_s(self, versions: int) -> float:
        """To compare versions in turns, unless the least pairs take longer. A round has a sample of each."""
        usual_s = min(_MOST_VERDICT_S, _ROUNDS_S + _ROUNDS_PART * self.total_s)
        return max(_LEAST_VERDICT_S, usual_s) * max(1.0, (versions + 1) / 3)

    def versions_s(self, versions: int, places: int) -> float:
        """To compile and check versions at a number of places each."""
        builds = math.ceil((versions + (places > 1)) * places / self.jobs)
        return builds * self.measured.build_s + (versions + 1) * places * self._check_s

    @property
    def versions_at_the_end(self) -> int:
        """How many versions with sources' changes the verdict compares: fewer where each takes seconds."""
        if not self.limited:
            return 1 << 10
        each_s = _BESIDE * self.measured.build_s / self.jobs + self._check_s + FIRST_S
        return max(_LEAST_VERSIONS, int(_VERSIONS_PART * self.total_s / each_s))

    def places_that_fit(self, versions: int, places: int) -> int:
        """At how many addresses of the code versions can be compared in the time that is left."""
        fits = (few for few in range(places, 1, -1) if self.left_s > 2.0 * self.versions_s(versions, few))
        return next(fits, 1) if self.limited else places

    def comparison_s(self, versions: int, places: int, most_s: float) -> float:
        """The part of the remaining time that the rounds of the last comparison may take."""
        if self.stop.requested:
            return min(most_s, 2.0 * _LEAST_VERDICT_S)
        if not self.limited:
            return most_s
        left_s = self.left_s - self._end_s - _MARGIN * self.versions_s(versions, places)
        return max(_LEAST_ROUNDS_S, min(most_s, left_s, self._rounds_s(versions)))

    def finals_that_fit(self, after_s: float, checks_s: Sequence[float]) -> list[int]:
        """The indices of the finals that there is time for, given the time of each one's check."""
        left_s = self.left_s - after_s - self._end_s
        found: list[int] = []
        for place, check_s in enumerate(checks_s):
            if LEAST_FINAL_S + check_s <= left_s:
                found.append(place)
                left_s -= LEAST_FINAL_S + check_s
        return found

    def final_plan(self, effort: Effort, places: int, left: int, keep: int, after_s: float) -> FinalPlan:
        """The plan of the next comparison of finals; each final has two at most.

        Args:
            effort: how much is compared without a budget.
            places: addresses of the code.
            left: comparisons that are left, with this one.
            keep: candidates to name.
            after_s: the time of the steps after all finals, and of checks of the remaining ones.
        """
        if self.stop.requested:  # who waits wants no more than the least that a verdict takes
            return FinalPlan(2, min(2, places), _QUICK_ROUNDS, _USUAL_FINAL_S, keep)
        if not self.limited:
            return FinalPlan(effort.finalists, places, effort.rounds, effort.final_s / 2, keep)
        each_s = _COMPARED_PART * max(LEAST_FINAL_S, (self.left_s - after_s) / max(1, left))
        finalists = max(1 + (each_s > 0.9), min(effort.finalists, int(each_s)))
        few = places if each_s > 1.8 else min(2, places)
        return FinalPlan(max(finalists, keep), few, effort.rounds, min(effort.final_s / 2, each_s), keep)
