"""GEMMs on a GPU: tuned for real, beside cuBLAS through PyTorch, and beside a tuner made of processes.

    python benchmarks/gpu_gemms.py programs/recorded/cuda/llama_*.mlir --device cuda://0 --chip sm_80 \\
        --budget 60 --json rows.jsonl --db gemms.db

For each program, one after the other:

1. `iree_tuner.tune_module` with the budget. Its searches say how many candidates an hour were tried and how
   much of that time the device was measuring them.
2. With all compilers gone, in one process: the dispatch as the compiler makes it, the tuned one, and
   `torch.mm`, in rounds of one sample each in an order that changes, all on rotating copies of their data.
   PyTorch multiplies the same types; the result's type is the program's where PyTorch can do that.
3. PyTorch's samples are taken a second time by CUDA events around the same calls, which shows what this
   project's way of timing (`iree_tuner.measure.sampling`) is worth.
4. With `--peer N`: N of the candidates of step 1 again, in the way of `peer_loop.py`, 8 compilations at once.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peer_loop

from iree_tuner import tune_module
from iree_tuner.device.memory import LoadedDispatch, Memory
from iree_tuner.device.sensors import sensors_for
from iree_tuner.measure.sampling import Batches, interleave
from iree_tuner.measure.statistics import Comparison, compare_rows
from iree_tuner.program.bindings import Harness
from iree_tuner.program.source import load_program
from iree_tuner.result import TuningResult
from iree_tuner.store.reproducer import RUN, FailedCandidate, write_reproducer
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.baseline import measure_baselines
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.reading import read_tasks
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.stop import StopRequest

COPIES_BYTES = 256 << 20  # of operands and results that PyTorch's calls rotate through; an H200's L2: 60 MB
PEER_COMPILERS = 8


@dataclass(frozen=True)
class Gemm:
    """`a @ b`, with `b` as it lies in memory.

    Attributes:
        m, n, k: sizes.
        transposed: whether `b` is given as n x k.
        operands, result: element types.
    """

    m: int
    n: int
    k: int
    transposed: bool
    operands: str
    result: str


def main() -> None:
    """Tune each, compare, print rows and a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda://0")
    parser.add_argument("--chip", default="sm_80")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--budget", type=float, help="seconds for each program")
    parser.add_argument("--rounds", type=int, default=48)
    parser.add_argument("--peer", type=int, default=0, help="candidates that the peer's way tries again")
    parser.add_argument("--db", type=Path)
    parser.add_argument("--specs", type=Path, help="folder for the specs")
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for program in given.programs:
        rows.append(row_of(program, given))
        print(json.dumps(rows[-1]), flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print(table(rows))


def row_of(path: Path, given: argparse.Namespace) -> dict[str, Any]:
    """One program, tuned and compared."""
    result = tune_module(
        path, device=given.device, chip=given.chip, effort=given.effort, budget_s=given.budget,
        try_flags=False, profile=False, db=given.db,
    )  # fmt: skip
    if given.specs:
        given.specs.mkdir(parents=True, exist_ok=True)
        result.save(given.specs / f"{path.stem}.spec.mlir")
    found = max(result.results, key=lambda each: each.share)
    row: dict[str, Any] = {
        "program": path.stem, "workload": found.task.workload.name, "tried": len(found.trials),
        "outcomes": found.outcomes, "searched_s": round(found.searched_s, 1),
        "per_hour": round(result.pace.per_hour), "busy": round(result.pace.busy, 3),
        "stages": result.time.seconds(),
        "verdict": found.verdict, "note": found.note,
        "configuration": [op.value for op in found.entry.configuration.ops] if found.entry else [],
        "alone": _told(found.comparison), "program_speedup": _told(result.comparison),
        "program_note": result.note,
    }  # fmt: skip
    row |= beside_torch(path, found, given)
    if given.peer:
        row |= peers_way(found, result, given)
    return row


def beside_torch(path: Path, found: WorkloadResult, given: argparse.Namespace) -> dict[str, Any]:
    """Default, tuned and PyTorch in turns; nothing compiles meanwhile."""
    target = target_for_device(given.device, given.chip)
    with Lab(target) as lab:
        (task,) = read_tasks(load_program(path), lab, Silent())
        harness = task.dispatches[0].harness
        assert harness is not None, "these programs are one dispatch that can be run"
        choices = [None, *([found.entry.configuration] if found.entry else [])]
        built = [lab.builder.build(harness, choice) for choice in choices]
    memory = Memory.for_timing(harness, given.device, max(1, COPIES_BYTES // harness.stride))
    runs: list[Any] = [LoadedDispatch(each.vmfb, harness, given.device, memory) for each in built]
    multiplied = TorchMatmul(gemm_of(path, harness), COPIES_BYTES)
    runs.append(multiplied)
    for each in runs:
        each.run(4)
    sensors = sensors_for(given.device)
    sensors.start()
    rows = np.asarray(interleave([Batches(each, 0.01) for each in runs], sensors, given.rounds))
    default, torch_us = np.median(rows[:, 0]), np.median(rows[:, -1])
    over_torch = compare_rows([rows[:, [-1, 0]]])[0]
    told = {
        "default_us": float(default), "torch_us": float(torch_us), "torch_result": multiplied.result,
        "default_over_torch": _told(over_torch), "events_us": multiplied.events_us(),
        "readings": str(sensors.readings()),
    }  # fmt: skip
    if len(built) > 1:
        told |= {
            "tuned_us": float(np.median(rows[:, 1])),
            "tuned_over_default": _told(compare_rows([rows[:, [0, 1]]])[0]),
            "tuned_over_torch": _told(compare_rows([rows[:, [-1, 1]]])[0]),
        }
    return told


def gemm_of(path: Path, harness: Harness) -> Gemm:
    """The sizes and types, from the program's text; its function takes the two operands first."""
    (left, operands), *_ = re.findall(r"%\w+: tensor<([0-9x]+)x(\w+)>", path.read_text())
    written = [each for binding in harness.bindings for each in binding.tensors if each.access != "read"]
    m, n = written[-1].shape[-2:]
    k = int(left.split("x")[-1])
    transposed = "-> (n, k)>" in path.read_text()
    return Gemm(m, n, k, transposed, operands, written[-1].element_type)


class TorchMatmul:
    """`torch.mm` on rotating copies, as something that can be run so many times."""

    def __init__(self, gemm: Gemm, copies_bytes: int) -> None:
        import torch

        self._torch = torch
        kinds: dict[str, Any] = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
        operands = kinds[gemm.operands]
        size = 2 * (gemm.m * gemm.k + gemm.k * gemm.n) + 4 * gemm.m * gemm.n
        count = max(1, copies_bytes // size)
        generator = torch.Generator("cuda").manual_seed(0)

        def made(rows: int, columns: int) -> Any:
            values = torch.rand(rows, columns, device="cuda", generator=generator) - 0.5
            return values.to(operands)

        self._a = [made(gemm.m, gemm.k) for _ in range(count)]
        self._b = [
            made(gemm.n, gemm.k).t() if gemm.transposed else made(gemm.k, gemm.n) for _ in range(count)
        ]
        self.result = gemm.result
        self._out: Any = kinds.get(gemm.result)
        try:
            torch.mm(self._a[0], self._b[0], out_dtype=self._out)
        except (RuntimeError, TypeError, NotImplementedError):
            self._out, self.result = None, gemm.operands
        self._next = 0

    def run(self, repeats: int) -> float:
        """Seconds of so many products, one after the other."""
        self._torch.cuda.synchronize()
        start = time.perf_counter()
        self._enqueue(repeats)
        self._torch.cuda.synchronize()
        return time.perf_counter() - start

    def events_us(self, repeats: int = 200) -> dict[str, float]:
        """Microseconds of one product, by CUDA events and by this project's protocol, of the same calls."""
        pairs: list[tuple[float, float]] = []
        batches = Batches(self, 0.01)
        for _ in range(12):
            begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._torch.cuda.synchronize()
            begin.record()
            self._enqueue(repeats)
            end.record()
            end.synchronize()
            pairs.append((begin.elapsed_time(end) / repeats * 1e3, batches.batch()))
        events, protocol = np.median(np.asarray(pairs), axis=0)
        return {"events": float(events), "protocol": float(protocol)}

    def _enqueue(self, repeats: int) -> None:
        for _ in range(repeats):
            a, b = self._a[self._next], self._b[self._next]
            self._next = (self._next + 1) % len(self._a)
            if self._out is None:
                self._torch.mm(a, b)
            else:
                self._torch.mm(a, b, out_dtype=self._out)


def peers_way(found: WorkloadResult, result: TuningResult, given: argparse.Namespace) -> dict[str, Any]:
    """Some of the same candidates by processes: candidates an hour, and how many times that this is."""
    target = target_for_device(given.device, given.chip)
    harness = found.task.dispatches[0].harness
    assert harness is not None
    trials = random.Random(0).sample(found.trials, min(given.peer, len(found.trials)))
    loop = peer_loop.PeerLoop(
        target.flags, RUN, (f"{harness.buffer_bytes}xi8=0",), given.device, PEER_COMPILERS
    )
    with tempfile.TemporaryDirectory() as name, Lab(target) as lab:
        space = measure_baselines([found.task], lab, StopRequest())[0].space
        assert space is not None
        sources: list[Path] = []
        for trial in trials:
            configuration = space.configuration(trial.assignment)
            failure = FailedCandidate("gemm", harness, configuration, target.flags, "run_error", "")
            written, _ = write_reproducer(Path(name), failure)
            sources.append(Path(written) / "dispatch.mlir")
        lab.close()
        start = time.perf_counter()
        ends = loop.run(sources)
        seconds = time.perf_counter() - start
    per_hour = len(ends) / seconds * 3600
    return {
        "peer_candidates": len(ends), "peer_s": round(seconds, 1), "peer_per_hour": round(per_hour),
        "peer_ends": {end: sum(each.end == end for each in ends) for end in {each.end for each in ends}},
        "times_the_peer": round(result.pace.per_hour / per_hour, 1),
    }  # fmt: skip


def _told(comparison: Comparison | None) -> list[float] | None:
    """Speedup and its interval."""
    return None if comparison is None else [comparison.speedup, *comparison.interval]


def table(rows: list[dict[str, Any]]) -> str:
    """A line a program, and the geometric mean."""
    titles = (
        "program", "default us", "tuned us", "speedup", "PyTorch us", "tuned/PyTorch", "tried", "an hour",
        "busy",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for row in rows:
        gain, low, high = row.get("tuned_over_default") or [1.0, 1.0, 1.0]
        beside = row.get("tuned_over_torch") or row["default_over_torch"]
        cells = (
            row["program"], f"{row['default_us']:.1f}", f"{row.get('tuned_us', row['default_us']):.1f}",
            f"{gain:.2f} ({low:.2f} to {high:.2f})", f"{row['torch_us']:.1f} ({row['torch_result']})",
            f"{beside[0]:.2f}", f"{row['tried']}", f"{row['per_hour']}", f"{row['busy']:.0%}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    gains = [(row.get("tuned_over_default") or [1.0])[0] for row in rows]
    lines.append(f"geometric mean over the defaults: {np.exp(np.mean(np.log(gains))):.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
