"""A binary against itself: how often is noise taken for a gain?

Each comparison is what the finals do with candidates that are all copies of the default: they take turns with
it at every place of the code, the best one goes on, and, if it won, meets the default again on fresh samples.
Each runs in a new process. `--load K` starts K processes that are busy all the time.

    python benchmarks/verdicts.py --count 300
    python benchmarks/verdicts.py --count 300 --load 2 --seconds 1800 --output loaded.jsonl

Prints one JSON object a comparison and a summary at the end. With `--output` they are appended to a file,
and comparisons that are in it already count: the same command goes on where it was stopped. `--record FILE`
writes the samples of copies that take turns instead, as the simulated devices of the unit tests replay them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import build_here
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.statistics import JudgePlan
from iree_tuner.measure.timing import rounds_here
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

PROGRAM = Path(__file__).parent.parent / "programs" / "ops" / "cpu_matmul_f32.mlir"
BUSY = "while True: pass"
Z = 1.96

Row = dict[str, object]


def main() -> None:
    """Compare, print, sum up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", default=str(PROGRAM))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no comparison begins after that")
    parser.add_argument("--load", type=int, default=0, help="competing processes")
    parser.add_argument("--copies", type=int, default=6, help="candidates; only the best is judged twice")
    parser.add_argument("--rounds", type=int, default=160)
    parser.add_argument("--places", type=int, default=4, help="addresses of the code at most; `quick` has 2")
    parser.add_argument("--device", default="local-task")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    bench, places = default_of(options.program, options.device)
    places = places[: options.places]
    with busy(options.load):
        if options.record:
            record(options.record, bench, options.copies + 1, options.rounds)
            return
        rows = compare_all(bench, places, options)
    print(json.dumps(summary(rows)))


def default_of(path: str, device: str) -> tuple[Bench, list[bytes]]:
    """The program's first dispatch that can be timed, and its default executable at each place."""
    target = target_for_device(device)
    with Workers(1) as workers:
        for dispatch in extract(load_program(path), target, workers).dispatches:
            if dispatch.harness is None:
                continue
            module = dispatch.harness.module
            places = [
                workers.call(build_here, module, target.flags, None, place).vmfb
                for place in range(target.placements)
            ]
            return Bench(dispatch.harness, device, places[0], Tolerance()), places
    sys.exit(f"{path}: no dispatch can be timed")


@contextmanager
def busy(count: int) -> Generator[None]:
    """Competing processes, for as long as it is open."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def compare_all(bench: Bench, places: Sequence[bytes], options: argparse.Namespace) -> list[Row]:
    """Rows of all comparisons, those of the output file first."""
    output: Path | None = options.output
    rows: list[Row] = []
    if output is not None and output.exists():
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    end = time.monotonic() + options.seconds
    with output.open("a", encoding="utf-8") if output else nullcontext() as file:
        while len(rows) < options.count and time.monotonic() < end:
            row = compare_once(bench, places, options)
            rows.append(row)
            for stream in (sys.stdout, file):
                if stream is not None:
                    print(json.dumps(row), file=stream, flush=True)
    return rows


def compare_once(bench: Bench, places: Sequence[bytes], options: argparse.Namespace) -> Row:
    """The finals, with copies of the default for candidates."""
    plan = JudgePlan(options.rounds)
    start = time.monotonic()
    with Workers(1) as workers:
        measurer = Measurer(options.device, workers)
        found = measurer.compare([(place, [place] * options.copies) for place in places], bench, plan)
        best = max(found, key=lambda comparison: comparison.speedup)
        first = best.verdict
        if first == "win":
            (best,) = measurer.compare([(place, [place]) for place in places], bench, plan)
    return {
        "first": first,
        "verdict": best.verdict,
        "speedup": round(best.speedup, 5),
        "interval": [round(end, 5) for end in best.interval],
        "least": round(min(each.speedup for each in found), 5),
        "pairs": best.pairs,
        "default_us": round(best.default_us, 2),
        "seconds": round(time.monotonic() - start, 2),
    }


def summary(rows: Sequence[Row]) -> Row:
    """How often which verdict, and how far speedups were from 1."""
    count = len(rows)
    verdicts = [row["verdict"] for row in rows]
    speedups = sorted(float(str(row["speedup"])) for row in rows)
    return {
        "comparisons": count,
        "wins": verdicts.count("win"),
        "loses": verdicts.count("lose"),
        "ties": verdicts.count("tie"),
        "wins_before_confirmation": [row["first"] for row in rows].count("win"),
        "false_wins_95": wilson(verdicts.count("win"), count),
        "speedup_median": statistics.median(speedups) if count else None,
        "speedup_range": [speedups[0], speedups[-1]] if count else None,
        "pairs_mean": round(statistics.mean(int(str(row["pairs"])) for row in rows), 1) if count else None,
    }


def wilson(hits: int, count: int) -> list[float] | None:
    """The 95 % interval of a rate."""
    if not count:
        return None
    rate, square = hits / count, Z * Z / count
    center = (rate + square / 2) / (1 + square)
    half = Z * ((rate * (1 - rate) + square / 4) / count) ** 0.5 / (1 + square)
    return [round(max(0.0, center - half), 5), round(center + half, 5)]


def record(path: Path, bench: Bench, columns: int, rounds: int) -> None:
    """Write samples of copies that take turns, in thousandths of their median."""
    with Workers(1) as workers:
        rows = workers.call(rounds_here, [bench.default] * columns, bench, rounds, 0.01)
    middle = statistics.median(value for row in rows for value in row)
    lines = [json.dumps([round(1000 * value / middle) for value in row]) for row in rows]
    head = json.dumps({"median_us": round(middle, 3), "columns": columns, "rounds": rounds})
    path.write_text(f'{{"about": {head}, "rows": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
