"""`iree-tuner db replay`: run search strategies on recordings.

`iree-tuner db replay --why`: explain the cost model's estimates and compare them with recorded times.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from iree_tuner.cli.output import answers, answers_to, knobs_text, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.search.cost.terms import Array, Estimate
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
from iree_tuner.search.strategy import DEFAULT, check_strategy

_TITLES = {"estimate": "first by the cost model", "time": "fastest recorded"}


def explain(spaces: Sequence[RecordedSpace], count: int, *, as_json: bool) -> None:
    """Print the terms of the `count` members that the model ranks first, and of the `count` fastest.

    Raises TunerError if the cost model supports none of the recordings.
    """
    told = 0
    for space in spaces:
        estimate = space.encoder.estimate(space.members)
        if estimate is None:
            people.print(f"{space.name}: the cost model does not support it")
            continue
        told += 1
        expected = _order(np.log2(np.maximum(estimate.cycles, 1e-9)))
        times = np.array([space.times_us.get(member, np.inf) for member in space.members])
        ran = [row for row in _order(times) if np.isfinite(times[row])]
        for by, rows in (("estimate", expected[:count]), ("time", ran[:count])):
            if rows and not as_json:
                answers.print(f"\n{space.name}: {_TITLES[by]}", style="bold")
            for place, row in enumerate(rows, 1):
                ranks = expected.index(row) + 1, ran.index(row) + 1 if row in ran else None
                if as_json:
                    print_json(_to_json(space, estimate, by, row, ranks))
                else:
                    _print(space, estimate, place, row, ranks)
    if not told:
        raise TunerError("the cost model supports none of these recordings")


def _order(values: Array) -> list[int]:
    """Ranks by value, lowest first. The sort is stable, so that it is the same on every machine."""
    return [int(place) for place in np.argsort(np.round(values, 6), kind="stable")]


def _terms(estimate: Estimate, row: int) -> list[tuple[str, float, str, str]]:
    """The name, value, unit and description of each term of a member's estimate."""
    numbers = {name: float(column[row]) for name, column in estimate.features.items()}
    return [
        (term.name, float(term.value[row]), term.unit, term.why.format_map(numbers))
        for term in estimate.terms
    ]


def _to_json(
    space: RecordedSpace, estimate: Estimate, by: str, row: int, ranks: tuple[int, int | None]
) -> dict[str, object]:
    """A member as JSON-ready data; `ranks` are those by the estimate and, if it ran, by the time."""
    member = space.members[row]
    return {
        "recording": space.name, "by": by, "knobs": dict(member),
        "estimated_cycles": round(float(estimate.cycles[row]), 1), "estimated_place": ranks[0],
        "time_us": float(space.times_us[member]) if ranks[1] else None, "best_us": space.best_us,
        "recorded_place": ranks[1],
        "terms": [
            {"name": name, "value": round(value, 4), "unit": unit, "why": why}
            for name, value, unit, why in _terms(estimate, row)
        ],
    }  # fmt: skip


def _print(
    space: RecordedSpace, estimate: Estimate, place: int, row: int, ranks: tuple[int, int | None]
) -> None:
    member, cycles = space.members[row], float(estimate.cycles[row])
    answers.print(f"\n{place}. {knobs_text(member)}", soft_wrap=True)
    recorded = "it did not run"
    if ranks[1] is not None:
        time_us = space.times_us[member]
        times = time_us / space.best_us
        recorded = f"recorded {time_us:,.1f} us, {times:.2f} times the best, rank {ranks[1]}"
    answers.print(f"   estimated {cycles:,.0f} cycles, rank {ranks[0]} of {len(space.members)}; {recorded}")
    terms = Table(box=None, padding=(0, 1), pad_edge=False, show_header=False)
    for justify in ("left", "right", "left", "left"):
        terms.add_column(justify=justify)
    for name, value, unit, why in _terms(estimate, row):
        terms.add_row(f"   {name}", f"{value:,.0f}" if unit == "cycles" else f"{value:,.2f}", unit, why)
    answers.print(terms)


_NAMED = {f"evaluations_to_{within * 100:.0f}_percent": within for within in WITHIN}


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
    strategies = tuple(dict.fromkeys(strategy))
    for name in strategies:
        check_strategy(name)
    spaces = [read_recording(path) for path in find_recordings(recordings)]
    if why is not None:
        explain(spaces, why, as_json=as_json)
        return 0
    _tell_left_out(spaces)
    found = list(_summaries(spaces, strategies, seeds, budget, batch, as_json=as_json))
    totals = [overall([each for each in found if each.strategy == name]) for name in strategies]
    for total in totals if as_json else ():
        near = {f"within_{WITHIN[-1] * 100:.0f}_percent_after_{SHOWN_AFTER}": round(total.near, 4)}
        print_json({
            "recordings": total.recordings, "strategy": total.strategy, **_medians_to_json(total), **near,
        })  # fmt: skip
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
        reason = "scikit-learn is not installed (pip install 'iree-tuner[learn]')"
    if alone or not can_train():
        people.print(f"no prior{which}: {reason}", soft_wrap=True)


def _summaries(
    spaces: Sequence[RecordedSpace], strategies: Sequence[str], seeds: int, budget: int, batch: int, *,
    as_json: bool,
) -> Iterator[ReplaySummary]:  # fmt: skip
    """Run all strategies. With `as_json`, print runs and summaries as they finish."""
    with _progress(as_json=as_json) as progress:
        task = progress.add_task("", total=len(spaces) * len(strategies) * seeds)
        for space in spaces:
            progress.update(task, description=f"{space.name}: prior")
            space.prior = train_prior(space, spaces) if can_train() else None
            for name in strategies:
                progress.update(task, description=f"{space.name}: {name}")
                runs: list[ReplayRun] = []
                for run in replay_all(space, name, range(seeds), budget, batch):
                    runs.append(run)
                    progress.advance(task)
                    if as_json:
                        print_json({
                            "recording": space.name, "strategy": run.strategy, "seed": run.seed,
                            **{label: run.evaluations_to(within) for label, within in _NAMED.items()},
                            "best_after": [finite(round(best, 5)) for best in run.best_after],
                        })  # fmt: skip
                summary = summarize(space.name, runs)
                if as_json:
                    print_json({
                        "recording": summary.recording, "strategy": summary.strategy, "seeds": summary.seeds,
                        "members": summary.members, **_medians_to_json(summary),
                    })  # fmt: skip
                yield summary


def _progress(*, as_json: bool) -> Progress:
    """A progress bar on standard error. None if results go to the same terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), console=people, transient=True, redirect_stdout=False, redirect_stderr=False,
        disable=not people.is_terminal or (as_json and sys.stdout.isatty()),
    )  # fmt: skip


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
