"""Kernels on a GPU: Triton's among the candidates, beside the tuned compiler and cuBLAS through PyTorch.

    python benchmarks/gpu_kernels.py programs/gemms/*.mlir --device cuda://0 --json rows.jsonl

For each program, which is one matrix multiplication, one after the other:

1. `iree_tuner.tune_module` with the budget finds the best configuration of the compiler's own code.
2. `iree_tuner.kernels.contest` tries the kernel's variants, checks their numbers, and judges the best.
3. With all compilers gone, in one process: the dispatch as the compiler makes it, the tuned one, the kernel,
   and `torch.mm` on the same types and sizes, with the same type of result, in rounds of one sample each in
   an order that changes, all on rotating copies of their data.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from gpu_gemms import COPIES_BYTES, Gemm, TorchMatmul

from iree_tuner import tune_module
from iree_tuner.execute.memory import Memory
from iree_tuner.execute.protocol import Batches
from iree_tuner.execute.runner import LoadedDispatch
from iree_tuner.execute.sampling import interleave
from iree_tuner.execute.sensors import sensors_for
from iree_tuner.execute.statistics import Comparison, compare_rows
from iree_tuner.kernels.bench import look_at
from iree_tuner.kernels.contest import Contest, hold_contest
from iree_tuner.kernels.product_shape import gemm_of
from iree_tuner.kernels.registry import kernel_named
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab

SAMPLE_S = 0.01


def main() -> None:
    """Tune each, hold its contest, compare, and print a row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda://0")
    parser.add_argument("--kernel", default="triton_gemm")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of tuning for each program")
    parser.add_argument("--variants", type=int, default=0, help="of the kernel; 0 for all")
    parser.add_argument("--rounds", type=int, default=48)
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    given = parser.parse_args()
    for program in given.programs:
        row = row_of(program, given)
        print(json.dumps(row), flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(row) + "\n")


def row_of(path: Path, given: argparse.Namespace) -> dict[str, Any]:
    """One program."""
    tuned = tune_module(path, device=given.device, budget_s=given.budget, try_flags=False, profile=False)
    found = tuned.results[0]
    configurations: dict[str, Configuration] = {}
    if found.entry:
        configurations[found.task.workload.key] = found.entry.configuration
    start = time.perf_counter()
    target = target_for_device(given.device, "host")
    with Lab(target) as lab:
        lab.start()
        outlook = look_at(load_program(path), target, [kernel_named(given.kernel)], lab)
        ((_, site, kernel),) = outlook.pairs
        contest = hold_contest(site, kernel, lab, tuned=configurations, most=given.variants)
    seconds = time.perf_counter() - start
    outcomes: dict[str, int] = {}
    for trial in contest.trials:
        outcomes[trial.outcome] = outcomes.get(trial.outcome, 0) + 1
    return {
        "program": path.stem, "problem": site.problem.name, "kernel": kernel.name,
        "tried": len(contest.trials), "outcomes": outcomes, "contest_s": round(seconds, 1),
        "note": contest.note, "chosen": contest.wins,
        "knobs": dict(contest.best.knobs) if contest.best else {},
        "wrong": [each.message for each in contest.trials if each.outcome == "wrong_result"][:3],
        "configurations_tried": len(found.trials), **beside_torch(contest, given),
    }  # fmt: skip


def beside_torch(contest: Contest, given: argparse.Namespace) -> dict[str, Any]:
    """Default, tuned, kernel and PyTorch in turns; nothing compiles meanwhile."""
    if contest.bench is None or contest.best is None:
        return {}
    harness = contest.bench.harness
    named = {"default": contest.bench.default, "kernel": contest.best.vmfb}
    if contest.configured:
        named["tuned"] = contest.configured
    memory = Memory.for_timing(harness, given.device, max(1, COPIES_BYTES // harness.stride))
    runs: list[Any] = [LoadedDispatch(each, harness, given.device, memory) for each in named.values()]
    problem = contest.site.problem
    sizes = gemm_of(problem)
    if sizes is None:
        return {}  # PyTorch's matmul is called for plain matrices
    operands, result = problem.inputs[0].element_type, problem.result.element_type
    set_device(given.device)
    torch = TorchMatmul(Gemm(sizes.m, sizes.n, sizes.k, sizes.transposed, operands, result), COPIES_BYTES)
    runs.append(torch)
    for each in runs:
        each.run(4)
    sensors = sensors_for(given.device)
    sensors.start()
    rows = np.asarray(interleave([Batches(each, SAMPLE_S) for each in runs], sensors, given.rounds))
    column = {name: index for index, name in enumerate([*named, "torch"])}
    medians = {f"{name}_us": float(np.median(rows[:, index])) for name, index in column.items()}
    pairs = [("kernel", "default"), ("kernel", "torch"), ("kernel", "tuned"), ("tuned", "default")]
    ratios = {
        f"{one}_over_{other}": told(compare_rows([rows[:, [column[other], column[one]]]])[0])
        for one, other in pairs
        if one in column and other in column
    }
    return {**medians, **ratios, "torch_result": torch.result, "readings": str(sensors.readings())}


def set_device(uri: str) -> None:
    """Let PyTorch use the GPU of a device URI."""
    import torch

    if uri.startswith("cuda://"):
        torch.cuda.set_device(int(uri.rpartition("/")[2]))


def told(found: Comparison) -> list[float]:
    """How many times as fast, with the interval."""
    return [found.speedup, *found.interval]


if __name__ == "__main__":
    main()
