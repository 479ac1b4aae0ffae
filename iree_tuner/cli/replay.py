"""`iree-tuner replay`: strategies against recordings."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from iree_tuner.cli.output import people, print_json
from iree_tuner.errors import UsageError
from iree_tuner.replay.recorded import RecordedSpace, find_recordings, read_recording
from iree_tuner.replay.run import Run, replay_all

_WITHIN = {"evaluations_to_2_percent": 0.02, "evaluations_to_10_percent": 0.10}
_SHOWN_AFTER = 16


def replay(
    recordings: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    strategy: Annotated[tuple[str, ...], Parameter(negative="", help="May be given several times.")] = (
        "default",
    ),
    budget: Annotated[int, Parameter(help="Evaluations; 0 is all members.")] = 0,
    seeds: Annotated[int, Parameter(help="Runs of each strategy.")] = 5,
    batch: Annotated[int, Parameter(help="Candidates that are asked for at a time.")] = 8,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="One JSON object a run.")] = False,
) -> int:
    """Run search strategies against recordings, at no cost; the same seed gives the same decisions.

    A model that was trained on a recording's workload is trained again without it first.

    Example: `iree-tuner replay recordings --strategy shuffle --strategy local --seeds 20`

    Parameters
    ----------
    recordings
        Files that `iree-tuner record` wrote, or folders of them.
    """
    if budget < 0 or seeds < 1 or batch < 1:
        raise UsageError("--budget must be at least 0, --seeds and --batch at least 1")
    spaces = [read_recording(path) for path in find_recordings(recordings)]
    table = _table(strategy)
    for space in spaces:
        runs = {name: list(replay_all(space, name, range(seeds), budget, batch)) for name in strategy}
        for each in (run for found in runs.values() for run in found):
            if as_json:
                print_json(_to_json(space, each))
        table.add_row(space.name, str(len(space.members)), *_cells(runs.values()))
        if as_json:
            for name, found in runs.items():
                print_json(_summary(space, name, found))
    people.print(table)
    return 0


def _to_json(space: RecordedSpace, run: Run) -> dict[str, object]:
    found: dict[str, object] = {"recording": space.name, "strategy": run.strategy, "seed": run.seed}
    found |= {name: run.evaluations_to(within) for name, within in _WITHIN.items()}
    return found | {"best_after": [round(best, 5) if best < float("inf") else None for best in run.best_after]}


def _summary(space: RecordedSpace, name: str, runs: Sequence[Run]) -> dict[str, object]:
    found: dict[str, object] = {"recording": space.name, "strategy": name, "seeds": len(runs)}
    found |= {f"median_{key}": median_to(runs, within) for key, within in _WITHIN.items()}
    return found | {
        f"median_share_after_{_SHOWN_AFTER}": round(
            statistics.median(run.share_after(_SHOWN_AFTER) for run in runs), 4
        )
    }


def median_to(runs: Sequence[Run], within: float) -> float | None:
    """Median of the evaluations; None when half of the runs never came so far."""
    counts = sorted(run.evaluations_to(within) or run.size + 1 for run in runs)
    median = statistics.median(counts)
    return median if median <= runs[0].size else None


def _table(strategies: Sequence[str]) -> Table:
    table = Table(title=f"evaluations to 2 % and to 10 %, and share of the best after {_SHOWN_AFTER}")
    table.add_column("recording")
    table.add_column("members", justify="right")
    for name in strategies:
        table.add_column(name, justify="right")
    return table


def _cells(found: Sequence[Sequence[Run]] | Iterator[Sequence[Run]]) -> Iterator[str]:
    for runs in found:
        counts = (median_to(runs, within) for within in _WITHIN.values())
        words = ["-" if count is None else f"{count:g}" for count in counts]
        share = statistics.median(run.share_after(_SHOWN_AFTER) for run in runs)
        yield f"{words[0]}, {words[1]}, {share:.0%}"
