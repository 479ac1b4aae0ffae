"""`iree-tuner db replay`: run search strategies on recordings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.replay_why import explain
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import UsageError
from iree_tuner.search.registry import DEFAULT, check_strategy
from iree_tuner.search.replay.leave_out import can_train, others, train_prior
from iree_tuner.search.replay.recorded import RecordedSpace, find_recordings, read_recording
from iree_tuner.search.replay.run import (
    SHOWN_AFTER,
    WITHIN,
    Overall,
    ReplayRun,
    ReplaySummary,
    finite,
    overall,
    replay_all,
    summarize,
)

_LEARN = "pip install 'iree-tuner[learn]'"
_NAMED = {f"evaluations_to_{within * 100:.0f}_percent": within for within in WITHIN}


@dataclass(frozen=True)
class _Plan:
    """The runs on each recording."""

    strategies: tuple[str, ...]
    seeds: int
    budget: int
    batch: int


def replay(
    recordings: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    strategy: Annotated[tuple[str, ...], Parameter(negative="", help="Strategy to run. Repeatable.")] = (
        DEFAULT,
    ),
    budget: Annotated[int, Parameter(help="Number of evaluations per run. 0 evaluates all.")] = 0,
    seeds: Annotated[int, Parameter(help="Number of runs per strategy.")] = 5,
    batch: Annotated[int, Parameter(help="Number of candidates per request to the strategy.")] = 8,
    why: Annotated[
        int | None,
        Parameter(help="Run no strategy. Explain the cost model's estimates of this many members."),
    ] = None,
    as_json: Annotated[
        bool, Parameter(name="--json", negative="", help="Print JSON, one object per run.")
    ] = False,
) -> int:
    """Run search strategies on recordings, without a device. Results depend only on the seed.

    The table shows how many evaluations a strategy needs to come within 2 % and 10 % of the best recorded
    time. Strategies with a prior learn it from the recordings of other workloads (requires the extra
    `learn`).

    Example: `iree-tuner db replay recordings --strategy shuffle --strategy local --seeds 20`

    Parameters
    ----------
    recordings
        Files that `iree-tuner db record` wrote, or folders of them.
    """
    if budget < 0 or seeds < 1 or batch < 1 or (why is not None and why < 1):
        raise UsageError("--budget must be at least 0; --seeds, --batch and --why at least 1")
    plan = _Plan(tuple(dict.fromkeys(strategy)), seeds, budget, batch)
    for name in plan.strategies:
        check_strategy(name)
    spaces = [read_recording(path) for path in find_recordings(recordings)]
    if why is not None:
        explain(spaces, why, as_json=as_json)
        return 0
    _tell_left_out(spaces)
    found = list(_summaries(spaces, plan, as_json=as_json))
    totals = [overall([each for each in found if each.strategy == name]) for name in plan.strategies]
    for total in totals if as_json else ():
        print_json(_overall_to_json(total))
    console = answers_to(as_json=as_json)
    console.print(
        f"Each cell: evaluations until within 2 %, until within 10 %, and speed after {SHOWN_AFTER}"
    )
    console.print("evaluations relative to the best (medians; - if half of the runs did not get there)")
    print_table(console, _table(found, totals), spare=("members",))
    return 0


def _tell_left_out(spaces: Sequence[RecordedSpace]) -> None:
    """Print a line if a prior cannot be trained."""
    alone = [space.name for space in spaces if not others(space, spaces)]
    which = f" for {', '.join(alone)}" if can_train() and len(alone) < len(spaces) else ""
    reason = "no recording of another workload of the same kind"
    if not can_train():
        reason = f"scikit-learn is not installed ({_LEARN})"
    if alone or not can_train():
        people.print(f"no prior{which}: {reason}", markup=False, soft_wrap=True)


def _summaries(spaces: Sequence[RecordedSpace], plan: _Plan, *, as_json: bool) -> Iterator[ReplaySummary]:
    """Run all strategies. With `as_json`, print runs and summaries as they finish."""
    with _progress(as_json=as_json) as progress:
        task = progress.add_task("", total=len(spaces) * len(plan.strategies) * plan.seeds)
        for space in spaces:
            progress.update(task, description=f"{space.name}: prior")
            space.prior = train_prior(space, spaces) if can_train() else None
            for name in plan.strategies:
                progress.update(task, description=f"{space.name}: {name}")
                runs: list[ReplayRun] = []
                for run in replay_all(space, name, range(plan.seeds), plan.budget, plan.batch):
                    runs.append(run)
                    progress.advance(task)
                    if as_json:
                        print_json(_run_to_json(space.name, run))
                summary = summarize(space.name, runs)
                if as_json:
                    print_json(_summary_to_json(summary))
                yield summary


def _progress(*, as_json: bool) -> Progress:
    """A progress bar on standard error. None if results go to the same terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), console=people, transient=True, redirect_stdout=False, redirect_stderr=False,
        disable=not people.is_terminal or (as_json and sys.stdout.isatty()),
    )  # fmt: skip


def _run_to_json(recording: str, run: ReplayRun) -> dict[str, object]:
    found: dict[str, object] = {"recording": recording, "strategy": run.strategy, "seed": run.seed}
    found |= {name: run.evaluations_to(within) for name, within in _NAMED.items()}
    return found | {"best_after": [finite(round(best, 5)) for best in run.best_after]}


def _summary_to_json(summary: ReplaySummary) -> dict[str, object]:
    found: dict[str, object] = {"recording": summary.recording, "strategy": summary.strategy}
    found |= {"seeds": summary.seeds, "members": summary.members}
    return found | _medians_to_json(summary)


def _overall_to_json(total: Overall) -> dict[str, object]:
    found: dict[str, object] = {"recordings": total.recordings, "strategy": total.strategy}
    found |= _medians_to_json(total)
    return found | {f"within_{WITHIN[-1] * 100:.0f}_percent_after_{SHOWN_AFTER}": round(total.near, 4)}


def _medians_to_json(found: ReplaySummary | Overall) -> dict[str, object]:
    counts = zip(_NAMED, found.evaluations, strict=True)
    medians: dict[str, object] = {f"median_{name}": finite(count) for name, count in counts}
    return medians | {f"median_share_after_{SHOWN_AFTER}": round(found.share, 4)}


def _table(found: Sequence[ReplaySummary], totals: Sequence[Overall]) -> Table:
    strategies = [total.strategy for total in totals]
    medians = table("recording", "members", *strategies, words=("recording",))
    for start in range(0, len(found), len(strategies)):
        row = found[start : start + len(strategies)]
        medians.add_row(row[0].recording, str(row[0].members), *map(_cell, row))
    if len(found) > len(totals):
        medians.add_row()
        medians.add_row(f"median of {totals[0].recordings}", "", *map(_cell, totals))
    return medians


def _cell(found: ReplaySummary | Overall) -> str:
    counts = (f"{count:g}" if finite(count) is not None else "-" for count in found.evaluations)
    return f"{', '.join(counts)}, {found.share:.0%}"
