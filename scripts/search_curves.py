"""Run search strategies over recordings, and write what `benchmarks/README.md` shows of them.

    python scripts/search_curves.py recordings --seeds 50 --output docs/search
    python scripts/search_curves.py recordings --seeds 3 --strategy optuna --add --output docs/search
    python scripts/search_curves.py --redraw --output docs/search

Writes OUTPUT/results.json, plots beside it, and the tables between the markers in benchmarks/README.md if
OUTPUT is docs/search. Prints a table of all recordings.
Each recording is replayed with a prior that was trained on the recordings of other workloads, so that what is
shown is shown for workloads that nothing was tuned to. The same recordings and the same release of
scikit-learn give the same results. Needs the extras `learn` and `report`. The strategies to
compare with are installed by `pip install ./benchmarks/strategies`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from search_report import details, draw, write_tables

from iree_tuner.errors import TunerError
from iree_tuner.search.replay.leave_out import can_train, others, train_prior
from iree_tuner.search.replay.recorded import RecordedSpace, find_recordings, read_recording
from iree_tuner.search.replay.run import SHOWN_AFTER, WITHIN, ReplayRun, finite, replay_all, summarize
from iree_tuner.search.strategy import DEFAULT, GROUP, check_strategy, make_strategy

AFTER = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Evaluations at which the curves are written down."""

AT_ONCE = 10
"""Seeds that a process runs before it takes what is next."""

Curve = dict[str, list[float]]


@dataclass(frozen=True)
class Plan:
    """What is run on each recording."""

    paths: tuple[Path, ...]
    strategies: tuple[str, ...]
    seeds: int
    budget: int
    batch: int


def main() -> None:
    """Replay, write, draw."""
    options = parsed()
    path = options.output / "results.json"
    try:
        if not options.no_plots and find_spec("altair") is None:
            raise TunerError("plots need altair", hint="pip install 'iree-tuner[report]', or --no-plots")
        if not options.redraw:
            results = measured(options)
            if options.add:
                results = added(json.loads(path.read_text(encoding="utf-8")), results)
            options.output.mkdir(parents=True, exist_ok=True)
            path.write_text(as_text(results), encoding="utf-8")
        results = json.loads(path.read_text(encoding="utf-8"))
    except (TunerError, OSError) as error:
        sys.exit(f"error: {error}")
    if not options.no_plots:
        draw(results, options.output)
    root = Path(__file__).resolve().parents[1]
    if options.output.resolve() == root / "docs" / "search":
        write_tables(results, root / "benchmarks" / "README.md")
    print(details(results), end="")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", type=Path, nargs="*", help="files, and folders of them")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--strategy",
        action="append",
        help="several may be given; else all of this project's whose libraries are installed",
    )
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--budget", type=int, default=AFTER[-1])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--redraw", action="store_true", help="run nothing; draw what is in results.json")
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep other strategies that are in results.json, of the same recordings",
    )
    parser.add_argument("--no-plots", action="store_true")
    options = parser.parse_args()
    if bool(options.recordings) == options.redraw:
        parser.error("give either recordings or --redraw")
    if min(options.seeds, options.budget, options.batch, options.jobs) < 1:
        parser.error("--seeds, --budget, --batch and --jobs must be at least 1")
    return options


def measured(options: argparse.Namespace) -> dict[str, object]:
    """Replay everything, a process a core. Raises TunerError for what cannot be read or used."""
    if not can_train():
        raise TunerError("priors need scikit-learn", hint="pip install 'iree-tuner[learn]'")
    for name in options.strategy or ():
        check_strategy(name)
    # What is no recording, and what is not installed, is told before anything runs.
    paths = tuple(find_recordings(options.recordings))
    first, *_ = read_all(paths)
    strategies = asked_for(options.strategy, first) if options.strategy else own_strategies(first)
    plan = Plan(paths, strategies, options.seeds, options.budget, options.batch)
    # One process a core is all that there is to gain, and sums of several threads need not be the same twice.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    rows: list[Mapping[str, object]] = []
    curves: dict[tuple[str, str], list[Curve]] = {}
    for place, runs in enumerate(all_runs(plan, options.jobs)):
        row, found = told(place, runs, plan)
        rows.append(row)
        for name, curve in found.items():
            curves.setdefault((str(row["target"]), name), []).append(curve)
    return {
        "seeds": dict.fromkeys(plan.strategies, plan.seeds),
        "budget": plan.budget,
        "batch": plan.batch,
        "default": DEFAULT,
        "strategies": list(plan.strategies),
        "recordings": sorted(rows, key=lambda row: (str(row["target"]), str(row["recording"]))),
        "curves": [
            {"target": target, "strategy": name, "recordings": len(found)} | middle(found)
            for (target, name), found in sorted(curves.items())
        ],
    }


def added(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, object]:
    """Both, and the new ones of what is in both. Raises TunerError where these cannot stand side by side."""
    alike = ("recording", "workload", "members", "trained_on")
    known, found = ([[row[key] for key in alike] for row in each["recordings"]] for each in (old, new))
    if known != found or any(old[key] != new[key] for key in ("budget", "batch")):
        raise TunerError("results.json is of other recordings, or of another budget", hint="leave out --add")
    rows = [
        {**row, "strategies": row["strategies"] | more["strategies"]}
        for row, more in zip(old["recordings"], new["recordings"], strict=True)
    ]
    kept = [curve for curve in old["curves"] if curve["strategy"] not in new["strategies"]]
    curves = sorted([*kept, *new["curves"]], key=lambda curve: (curve["target"], curve["strategy"]))
    names = list(dict.fromkeys([*old["strategies"], *new["strategies"]]))
    seeds = old["seeds"] | new["seeds"]
    return {**new, "seeds": seeds, "strategies": names, "recordings": rows, "curves": curves}


def asked_for(names: Sequence[str], space: RecordedSpace) -> tuple[str, ...]:
    """Each once. Raises TunerError for one that cannot be made."""
    for name in names:
        make_strategy(name, space, 0, space.start)
    return tuple(dict.fromkeys(names))


def own_strategies(space: RecordedSpace) -> tuple[str, ...]:
    """Those of this project that can be made: other packages' stand in their own tables."""
    found: list[str] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if not entry.value.startswith(("iree_tuner.", "iree_tuner_strategies.")):
            continue
        try:
            make_strategy(entry.name, space, 0, space.start)
        except TunerError as error:  # it needs an extra
            print(f"{entry.name} is left out: {error}", file=sys.stderr)
        else:
            found.append(entry.name)
    return tuple(found)


def all_runs(plan: Plan, jobs: int) -> list[dict[str, list[ReplayRun]]]:
    """For each recording, the runs of each strategy in the order of their seeds."""
    runs: list[dict[str, list[ReplayRun]]] = [{} for _ in plan.paths]
    parts = [range(first, min(first + AT_ONCE, plan.seeds)) for first in range(0, plan.seeds, AT_ONCE)]
    start = time.monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = {
            pool.submit(replayed, place, name, seeds, plan): (place, name)
            for place in range(len(plan.paths))
            for name in plan.strategies
            for seeds in parts
        }
        for done, future in enumerate(as_completed(futures), 1):
            place, name = futures[future]
            runs[place].setdefault(name, []).extend(future.result())
            seconds = time.monotonic() - start
            print(
                f"{done} of {len(futures)}, {seconds:.0f} s: {plan.paths[place].name} {name}", file=sys.stderr
            )
    return [{name: sorted(each[name], key=lambda run: run.seed) for name in plan.strategies} for each in runs]


def replayed(place: int, name: str, seeds: range, plan: Plan) -> list[ReplayRun]:
    """Some seeds of a strategy on a recording. Runs in a process of its own."""
    return list(replay_all(left_out(place, plan.paths), name, seeds, plan.budget, plan.batch))


@cache
def left_out(place: int, paths: Sequence[Path]) -> RecordedSpace:
    """A recording with the prior that the others teach, once a process."""
    spaces = read_all(paths)
    space = spaces[place]
    space.prior = train_prior(space, spaces)
    return space


def told(
    place: int, runs: Mapping[str, list[ReplayRun]], plan: Plan
) -> tuple[dict[str, object], dict[str, Curve]]:
    """One recording: its row of the results, and a curve for each strategy."""
    spaces = read_all(plan.paths)
    space = spaces[place]
    medians: dict[str, object] = {}
    curves: dict[str, Curve] = {}
    for name, each in runs.items():
        found = summarize(space.name, each)
        counts = zip(WITHIN, found.evaluations, strict=True)
        medians[name] = {
            f"evaluations_to_{within * 100:.0f}_percent": finite(count) for within, count in counts
        } | {f"share_after_{SHOWN_AFTER}": round(found.share, 4)}
        curves[name] = quartiles(each, plan.budget)
    row: dict[str, object] = {
        "recording": space.name,
        "workload": space.workload.name,
        "target": space.encoder.machine.kind,
        "machine": space.encoder.machine.name,
        "members": len(space.members),
        "trained_on": len(others(space, spaces)),
        "default_share": round(space.best_us / space.default_us, 4),
        "strategies": medians,
    }
    return row, curves


@cache
def read_all(paths: Sequence[Path]) -> list[RecordedSpace]:
    """All recordings, once a process."""
    return [read_recording(path) for path in paths]


def quartiles(runs: Sequence[ReplayRun], budget: int) -> Curve:
    """Share of the best after 1 to `budget` evaluations: median and quartiles over the seeds."""
    shares = np.array([[run.share_after(count) for count in range(1, budget + 1)] for run in runs])
    low, median, high = np.percentile(shares, [25, 50, 75], axis=0)
    return {"median": median.tolist(), "low": low.tolist(), "high": high.tolist()}


def middle(curves: Sequence[Curve]) -> dict[str, list[float] | list[int]]:
    """Medians over recordings of their medians, and of their quartiles."""
    longest = len(curves[0]["median"])
    after = [count for count in AFTER if count <= longest]
    found: dict[str, list[float] | list[int]] = {"after": after}
    for name in ("median", "low", "high"):
        columns = np.median([curve[name] for curve in curves], axis=0)
        found[name] = [round(float(columns[count - 1]), 4) for count in after]
    return found


def as_text(results: Mapping[str, object]) -> str:
    """JSON with a line a recording and a line a curve, so that a change is seen in a diff."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {one}" for key, one in parts(results)) + "\n}\n"


def parts(results: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Keys, and values as text."""
    for key, value in results.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield key, "[\n" + ",\n".join(json.dumps(each) for each in value) + "\n]"
        else:
            yield key, json.dumps(value)


if __name__ == "__main__":
    main()
