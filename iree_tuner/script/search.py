"""Search a script's knobs: each choice is compiled, checked and timed on the dispatches that it lowers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.script.build import bench_of
from iree_tuner.script.choices import ScriptChoices, Subject
from iree_tuner.script.script import Script
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import time_default, why_it_fails
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.finals import FinalPlan, play_searches
from iree_tuner.tuning.jobs import Jobs
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.stop import StopRequest

ROUNDS, _FINAL_S = 64, 10.0

Watch = Callable[[str], None]
"""Gets messages of progress, a line at a time."""


@dataclass(frozen=True)
class ScriptSearch:
    """The result of a search."""

    subjects: tuple[Subject, ...]  # the dispatches that were timed
    # all choices, in the order in which they ended; the script's own is among the first
    trials: tuple[Trial, ...]
    ranked: tuple[
        Trial, ...
    ]  # a few that are correct on several seeds, in the order of a comparison in turns
    members: int  # how many choices there are
    # dispatches that the script lowers and that cannot be timed alone, with the reason
    left_out: tuple[str, ...] = ()

    @property
    def default_us(self) -> float:
        """Time of the compiler's own code, in the calls of one invocation."""
        return sum(each.calls * each.default_us for each in self.subjects)


def search_script(
    program: Program, script: Script, lowered: Sequence[str], lab: Lab, stop: StopRequest,
    *, strategy: str = "local", trials: int = 64, seconds: float = math.inf, seed: int = 0,
    finalists: int = 3, rounds: int = ROUNDS, watch: Watch = lambda _: None, records: Records | None = None,
) -> ScriptSearch:  # fmt: skip
    """Try choices of a script's knobs, its own first, on the `lowered` dispatches.

    Args:
        program, script, lowered: the functions are those that `compile_with_script` found.
        lab: where it is built and timed.
        stop: nothing more begins after a request.
        strategy, trials, seed: the strategy that proposes choices, at most `trials`.
        seconds: nothing more begins after this time.
        finalists, rounds: the finalists are checked on several seeds, and ranked in `rounds` turns.
        watch: gets the progress.
        records: store the trials, and have those of earlier runs.

    Raises:
        TunerError: the script has no knobs, or no dispatch that it lowers can be timed alone.
        CompileError: the program does not compile.
        DeviceLostError: the device does not run the compiler's own code any more.
    """
    if not script.knobs:
        raise TunerError("the script has no knobs to search", location=script.path)
    subjects, left_out, dispatch = _subjects(program, lowered, lab)
    if dispatch is None or dispatch.workload is None:
        raise TunerError(f"no dispatch that the script lowers can be measured alone: {'; '.join(left_out)}")
    records = records or Records(None, stop)
    kind = ScriptChoices(script, subjects, dispatch.workload, lab, records)
    search = Search(kind, kind.strategy(strategy, seed), records, first=[kind.start], cap=trials)

    def tried(_: Search) -> None:
        best = f", best {1 / search.best.score:.2f}x" if search.best else ""
        watch(f"{search.tried} of {min(trials, kind.size)} assignments tried{best}")

    def plan(_: Search, __: int) -> FinalPlan:
        watch("final comparisons")
        return FinalPlan(finalists, 1, rounds, _FINAL_S, keep=finalists, least=0.0)

    finals = play_searches([search], lab, stop, plan, time.monotonic() + seconds, tried)
    named = finals[search].named if search in finals else ()
    ranked = [each.winner for each in named if each.winner is not None]
    return ScriptSearch(subjects, tuple(search.trials), tuple(ranked), kind.size, left_out)


def _subjects(
    program: Program, lowered: Sequence[str], lab: Lab
) -> tuple[tuple[Subject, ...], tuple[str, ...], Dispatch | None]:
    """Dispatches to time; dispatches that cannot be, with the reason; and one with a workload."""
    subjects: list[Subject] = []
    left_out: list[str] = []
    one: Dispatch | None = None
    every = extract(program, lab.target, lab.compilers).dispatches
    lowers = [dispatch for dispatch in every if dispatch.name in lowered]
    for dispatch, made in zip(lowers, play(lab, [_subject(each, lab) for each in lowers]), strict=True):
        if isinstance(made, Subject):
            subjects.append(made)
            one = one or dispatch
        else:
            left_out.append(f"{dispatch.name}: {made}")
    return tuple(subjects), tuple(left_out), one


def _subject(dispatch: Dispatch, lab: Lab) -> Jobs[Subject | str]:
    bench = yield from bench_of(dispatch, lab)
    if isinstance(bench, str):
        return bench
    timed, bench = yield from time_default(bench, lab)
    if timed.outcome != "ok":
        return why_it_fails(timed)
    return Subject(dispatch.name, dispatch.calls.count, bench, min(timed.samples_us))
