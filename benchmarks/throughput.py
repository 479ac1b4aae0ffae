"""Candidates an hour: this project's engine beside a tuner made of processes, on the same candidates.

Both tune a 512x768x1024 f32 matmul on this machine's cores, in blocks of candidates that alternate, so that
both meet the same machine: a, b, then b, a, and so on.

    python benchmarks/throughput.py
    python benchmarks/throughput.py --candidates 20 --json
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import peer_loop

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.search.orders import FixedOrder
from iree_tuner.space.build import build_spaces
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JointSpace
from iree_tuner.store.reproducer import RUN, FailedCandidate, write_reproducer
from iree_tuner.store.trial import Trial
from iree_tuner.targets import Target, target_for_device
from iree_tuner.tuning.baseline import Task, make_tasks, measure_baselines
from iree_tuner.tuning.candidate import Configurations
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import effort_named
from iree_tuner.tuning.records import Records, open_records
from iree_tuner.tuning.search import InTurns, Search
from iree_tuner.tuning.stop import StopRequest

PROGRAM = Path(__file__).parent.parent / "programs" / "ops" / "cpu_matmul_f32.mlir"
DEVICE = "local-task"
JOBS = 2

PROTOCOL = (
    f"the engine of `iree-tuner tune`: {JOBS} compile workers and one that measures, which live on; each "
    "candidate's configuration is seen to arrive; equal code is measured once; buffers are rotated through "
    "more memory than the caches hold; slow candidates end early, runs of over 0.4 s with their process; "
    "results are compared with the default's; "
    "a candidate is given up when it has 8 times as many operations as the default before code generation "
    "(at least 8,000), or compiles for 4 times as long (at least a second); "
    "the default is timed again in each block; trials are kept in a database, failures get a reproducer. "
    "Starting the workers, compiling and timing the default count in the first block"
)


@dataclass(frozen=True)
class Subject:
    """What is tuned, its space, and the candidates."""

    target: Target
    task: Task
    space: JointSpace
    assignments: list[Assignment]


@dataclass(frozen=True)
class Block:
    """The same candidates, both ways."""

    own_s: float
    peer_s: float
    own: list[Trial]
    peer: list[peer_loop.PeerTrial]


class Own:
    """This project's way. What a run starts once is started by the first block."""

    def __init__(self, subject: Subject, folder: Path, stack: ExitStack) -> None:
        self._subject = subject
        self._folder = folder
        self._stack = stack
        self._stop = StopRequest()
        self._started: tuple[Lab, Configurations, Records] | None = None

    def run(self, assignments: list[Assignment]) -> list[Trial]:
        """One block; trials in the order of the assignments."""
        lab, kind, records = self._started = self._started or self._start()
        search = Search(kind, FixedOrder(assignments), records)
        engine = Engine(lab, self._stop, len(assignments))
        found = {trial.assignment: trial for _, trial in engine.run(InTurns([search]))}
        return [found[each] for each in assignments]

    def _start(self) -> tuple[Lab, Configurations, Records]:
        subject = self._subject
        lab = self._stack.enter_context(Lab(subject.target, JOBS))
        lab.start()
        database = self._folder / "trials.db"
        records = self._stack.enter_context(
            open_records(database, "throughput", {}, stop=self._stop, fresh=False)
        )
        (baseline,) = measure_baselines([subject.task], lab, self._stop)
        kind = Configurations(baseline, lab, effort_named("default"), records)
        return lab, kind, records


def main() -> None:
    """Run both and print what they reached."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--block", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    found = summary(run(make_subject(given.candidates, given.seed), given.block))
    print(json.dumps(found) if given.json else told(found))


def make_subject(count: int, seed: int) -> Subject:
    """The program's one dispatch, and seeded candidates of its space. Costs neither way anything."""
    target = target_for_device(DEVICE)
    with Workers(1) as workers:
        (task,) = make_tasks(extract(load_program(PROGRAM), target, workers).dispatches)
    space = JointSpace(build_spaces(task.workload, task.dispatches[0].limits, new_context()))
    return Subject(target, task, space, list(islice(space.shuffled(seed), count)))


def run(subject: Subject, size: int) -> list[Block]:
    """All blocks. Each way's first block is the cold one; which way goes first alternates."""
    blocks: list[Block] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        own = Own(subject, Path(name), stack)
        loop = _peer(subject)
        sources = [_source(subject, each, Path(name) / "peer") for each in subject.assignments]
        for number, first in enumerate(range(0, len(sources), size)):
            part = slice(first, first + size)
            assignments, files = subject.assignments[part], sources[part]
            for way in ("own", "peer") if number % 2 == 0 else ("peer", "own"):
                start = time.perf_counter()
                if way == "own":
                    trials = own.run(assignments)
                    own_s = time.perf_counter() - start
                else:
                    peers = loop.run(files)
                    peer_s = time.perf_counter() - start
            blocks.append(Block(own_s, peer_s, trials, peers))
            print(f"block {number}: {own_s:.1f} s, peer {peer_s:.1f} s", file=sys.stderr)
    return blocks


def _peer(subject: Subject) -> peer_loop.PeerLoop:
    harness = subject.task.dispatches[0].harness
    assert harness is not None
    inputs = (f"{harness.buffer_bytes}xi8=0",)
    return peer_loop.PeerLoop(subject.target.flags, RUN, inputs, DEVICE)


def _source(subject: Subject, assignment: Assignment, folder: Path) -> Path:
    """The candidate as a file for iree-compile, with a function that iree-benchmark-module can call."""
    harness = subject.task.dispatches[0].harness
    assert harness is not None
    failure = FailedCandidate(
        "matmul", harness, subject.space.configuration(assignment), subject.target.flags, "run_error", ""
    )
    written, note = write_reproducer(folder, failure)
    assert not note, note
    return Path(written) / "dispatch.mlir"


def summary(blocks: Sequence[Block]) -> dict[str, object]:
    """Rates, their ratio a block, and whether the two ways' times agree."""
    count = sum(len(block.own) for block in blocks)
    own_s, peer_s = (sum(times) for times in zip(*((b.own_s, b.peer_s) for b in blocks), strict=True))
    ratios = [block.peer_s / block.own_s for block in blocks]
    pairs = [
        (own.time_us, peer.time_us)
        for block in blocks
        for own, peer in zip(block.own, block.peer, strict=True)
        if own.time_us is not None and peer.time_us is not None
    ]
    return {
        "candidates": count,
        "own_per_hour": round(3600 * count / own_s),
        "peer_per_hour": round(3600 * count / peer_s),
        "ratio": round(peer_s / own_s, 2),
        "ratio_of_blocks": [round(value, 2) for value in _spread(ratios)],
        "own_ends": _counted(trial.outcome for block in blocks for trial in block.own),
        "peer_ends": _counted(trial.end for block in blocks for trial in block.peer),
        "compile_s": round(sum(trial.compile_s for block in blocks for trial in block.own), 2),
        "measure_s": round(sum(trial.measure_s for block in blocks for trial in block.own), 2),
        "rank_correlation": round(spearman(pairs), 3),
        "timed_by_both": len(pairs),
        "blocks": [(round(block.own_s, 2), round(block.peer_s, 2)) for block in blocks],
    }


def spearman(pairs: Sequence[tuple[float, float]]) -> float:
    """Rank correlation; NaN for fewer than two pairs."""
    if len(pairs) < 2:
        return math.nan
    ranks = np.argsort(np.argsort(np.array(pairs), axis=0), axis=0)
    return float(np.corrcoef(ranks.T)[0, 1])


def told(found: dict[str, object]) -> str:
    """The summary for people."""
    lines = [f"own:  {PROTOCOL}.", f"peer: {peer_loop.PROTOCOL}.", ""]
    lines += [f"{name.replace('_', ' ')}: {value}" for name, value in found.items()]
    return "\n".join(lines)


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _counted(ends: Generator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for end in ends:
        counts[end] = counts.get(end, 0) + 1
    return counts


if __name__ == "__main__":
    main()
