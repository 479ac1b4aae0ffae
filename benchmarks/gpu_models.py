"""Whole models on a GPU: tuned, and then defaults, tuned programs and PyTorch in one interleaved run.

    python examples/models/export.py --model llama_block --program-only --output FOLDER
    python examples/models/export.py --model resnet50 --program-only --output FOLDER
    python benchmarks/gpu_models.py FOLDER --device cuda://0 --budget 240 --json rows.jsonl

The weights are written beside the program where they are not there. All run the same model on the same
weights and inputs, in one process; a sample is the mean of as many calls as take 20 ms, in an order that
changes from round to round. Everyone is timed in two ways: with each call waited for, and with calls in
flight, of which the last is waited for (IREE: functions with fences, each of which waits for the one before
it; PyTorch: one stream). PyTorch runs eagerly, compiled (`torch.compile`), and compiled with `max-autotune`,
which tunes its kernels and replays CUDA graphs; always without TF32. Where results differ from eager
PyTorch's by more than the model's tolerance, that is said; a tuned program that differs is not timed. Prints
a JSON object a model: median times, and how many times as fast the tuned program is as each of the others
that are timed in the same way.

With `--kernels N` external kernels compete too: N variants of each (0: all) on every problem of the program
that they compute, alone against the tuned configuration; the tuned program with the winners is one contender
more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.models import GPU_MODELS
from examples.models.in_torch import torch_inputs, torch_module
from examples.models.model import Model
from examples.models.to_mlir import write_parameters
from iree_tuner import TuningResult, tune_module
from iree_tuner.cli.kernel_report import contest_to_json
from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.worker import Workers
from iree_tuner.execute.program_loaded import LoadedProgram
from iree_tuner.execute.program_request import request
from iree_tuner.execute.program_run import ProgramRun
from iree_tuner.execute.sampling import interleave
from iree_tuner.execute.sensors import sensors_for
from iree_tuner.execute.statistics import compare_rows
from iree_tuner.kernels.bench import SPEC_FLAG, look_at, winners, with_flags
from iree_tuner.kernels.contest import hold_contest
from iree_tuner.kernels.registry import usual_kernels
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program, load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.versions import with_spec

SAMPLE_S = 0.02
FENCES = "--iree-execution-model=async-external"


@dataclass(frozen=True)
class Contender:
    """A way to run a model.

    Attributes:
        name: in the results.
        waits: whether each call is waited for, or the last of several.
        run: seconds of so many calls.
        error: how far its results are from PyTorch's, as a part of the largest.
    """

    name: str
    waits: bool
    run: Callable[[int], float]
    error: float
    counts: list[int] = field(default_factory=list[int])

    @property
    def title(self) -> str:
        """With how it is timed."""
        return self.name if self.waits else f"{self.name}, calls in flight"

    def batch(self) -> float:
        """Microseconds of a call."""
        if not self.counts:
            self.run(3)
            self.counts.append(max(1, round(SAMPLE_S * 3 / self.run(3))))
        return self.run(self.counts[0]) / self.counts[0] * 1e6


def main() -> None:
    """Tune and compare each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what examples/models/export.py wrote")
    parser.add_argument("--model", action="append", choices=list(GPU_MODELS))
    parser.add_argument("--device", action="append", help="cuda://0; several are used side by side")
    parser.add_argument("--chip", default="host")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--budget", type=float, default=240.0, help="seconds for each model")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--kernels", type=int, help="variants of each kernel on each problem; 0 for all")
    parser.add_argument("--specs", type=Path, help="folder for specs and pages")
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    given = parser.parse_args()
    given.device = given.device or ["cuda://0"]
    for name in given.model or GPU_MODELS:
        row = row_of(GPU_MODELS[name], given)
        print(json.dumps(row), flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(row) + "\n")


def row_of(model: Model, given: argparse.Namespace) -> dict[str, Any]:
    """One model, tuned and compared."""
    program = load_program(given.folder / f"{model.name}.mlir")
    weights = given.folder / f"{model.name}.irpa"
    if not weights.exists():
        write_parameters(model.weights(), weights)
    with tempfile.TemporaryDirectory() as name:
        run = run_of(program, model, weights, Path(name))
        start = time.perf_counter()
        result = tune_module(
            program, device=given.device, chip=given.chip, effort=given.effort, budget_s=given.budget, run=run
        )
        seconds = time.perf_counter() - start
        if given.specs:
            given.specs.mkdir(parents=True, exist_ok=True)
            result.save(given.specs / f"{model.name}.spec.mlir")
        return {
            "model": model.name, "summary": model.summary, "tuned_in_s": round(seconds, 1),
            "tried": result.pace.candidates, "per_hour": round(result.pace.per_hour),
            "devices": given.device, "own_verdict": [result.speedup, *result.interval], "note": result.note,
            "flags": list(result.flags), "entries": len(result.entries), "left_out": len(result.left_out),
            "workloads": [workload_row(each) for each in result.results],
            "explained": round(before.explained, 3) if (before := result.profiles[0]) else None,
            **compared(program, model, run, result, given, Path(name)),
        }  # fmt: skip


def run_of(program: Program, model: Model, weights: Path, folder: Path) -> ProgramRun:
    """The model on its example, with its weights."""
    paths: list[str] = []
    for index, value in enumerate(model.example()):
        np.save(folder / f"input{index}.npy", value)
        paths.append(str(folder / f"input{index}.npy"))
    return request(program, inputs=paths, parameters=[(None, str(weights))])


def workload_row(each: Any) -> dict[str, Any]:
    """A workload's outcome."""
    found = each.comparison
    return {
        "workload": each.task.workload.name, "share": round(each.share, 4), "tried": len(each.trials),
        "verdict": each.verdict, "alone": [found.speedup, *found.interval] if found else None,
        "note": each.note,
    }  # fmt: skip


def compared(
    program: Program, model: Model, run: ProgramRun, result: TuningResult, given: argparse.Namespace,
    folder: Path,
) -> dict[str, Any]:  # fmt: skip
    """Times and ratios of all, taken in turns while nothing compiles."""
    target = target_for_device(given.device[0], given.chip)
    with Workers(1) as workers:
        codes = {
            ("default", waits): compile_program(
                program, target if waits else with_flags(target, (FENCES,)), workers
            ).data
            for waits in (True, False)
        }
    codes |= {("tuned", True): result.vmfb(), ("tuned", False): result.vmfb((FENCES,))}
    contests: list[dict[str, object]] = []
    if given.kernels is not None:
        code, contests = with_kernels(program, result, given, folder)
        codes |= {("kernels", True): code} if code else {}
    contenders, expected, notes = on_torch(model)
    for number, ((name, waits), code) in enumerate(codes.items()):
        path = folder / f"{number}.vmfb"
        path.write_bytes(code)
        loaded = LoadedProgram(str(path), given.device[0], run)
        error = error_of(loaded.results()[0], expected)
        contenders.append(Contender(name, waits, loaded.batch if waits else loaded.in_flight, error))
    errors = {each.title: each.error for each in contenders}
    wrong = [each.title for each in contenders if not each.error <= model.tolerance]
    found: dict[str, Any] = {"errors": errors, "contests": contests, "notes": notes}
    if wrong:
        found["problem"] = f"differ from PyTorch: {', '.join(wrong)}"
    if any(name.startswith("tuned") for name in wrong):
        return found
    for each in contenders:
        each.batch()
    sensors = sensors_for(given.device[0])
    sensors.start()
    rows = np.asarray(interleave(contenders, sensors, given.rounds))
    medians = np.median(rows, axis=0)
    tuned = {each.waits: index for index, each in enumerate(contenders) if each.name == "tuned"}
    return found | {
        "median_us": {each.title: float(us) for each, us in zip(contenders, medians, strict=True)},
        "tuned_over": {
            each.title: ratio(rows[:, [index, tuned[each.waits]]])
            for index, each in enumerate(contenders)
            if each.name != "tuned"
        },
        "readings": str(sensors.readings()),
    }


def with_kernels(
    program: Program, result: TuningResult, given: argparse.Namespace, folder: Path
) -> tuple[bytes, list[dict[str, object]]]:
    """The tuned program with the kernels that win, compiled; empty where none does. And all contests."""
    configurations = {
        each.task.workload.key: each.entry.configuration for each in result.results if each.entry
    }
    path = folder / "kernels.mlir"
    with Lab(result.target) as lab:
        lab.start()
        wanted = [each for each in usual_kernels(result.target.backend) if not each.missing()]
        outlook = look_at(program, result.target, wanted, lab)
        contests = [
            hold_contest(site, kernel, lab, tuned=configurations, most=given.kernels)
            for _, site, kernel in outlook.pairs
        ]
        chosen = winners(contests)
        rows = [
            contest_to_json(contest, place.functions)
            for contest, (place, _, _) in zip(contests, outlook.pairs, strict=True)
        ]
        if not chosen:
            return b"", rows
        save_kernel_spec(chosen, outlook.target, lab.context, path)
        target = replace(result.target, flags=(*result.target.flags, f"{SPEC_FLAG}={path}"))
        tuned = with_spec(program, to_bytecode(result.spec))
        return compile_program(tuned, target, lab.compilers).data, rows


def on_torch(model: Model) -> tuple[list[Contender], list[NDArray[Any]], list[str]]:
    """PyTorch in all its ways on the GPU, what it computes eagerly, and why some ways are not there."""
    import torch

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    module = torch_module(model).cuda()
    inputs = [each.cuda() for each in torch_inputs(model)]
    ways: dict[str, Callable[..., Any]] = {
        "PyTorch": module,
        "PyTorch compiled": torch.compile(module),
        "PyTorch compiled, max-autotune": torch.compile(module, mode="max-autotune"),
    }
    contenders: list[Contender] = []
    notes: list[str] = []
    expected: list[NDArray[Any]] = []
    for name, way in ways.items():
        try:
            with torch.inference_mode():
                found = [each.float().cpu().numpy() for each in way(*inputs)]
        except Exception as error:  # its compilers raise what they like
            notes.append(f"{name}: {str(error).strip().splitlines()[0]}")
            continue
        expected = expected or found
        error = error_of(found, expected)
        contenders += [
            Contender(name, waits, partial(torch_calls, way, inputs, waits), error) for waits in (True, False)
        ]
    return contenders, expected, notes


def torch_calls(way: Callable[..., Any], inputs: list[Any], waits: bool, count: int) -> float:
    """Seconds of so many calls."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.inference_mode():
        for _ in range(count):
            way(*inputs)
            if waits:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
    return time.perf_counter() - start


def error_of(found: list[Any], expected: list[NDArray[Any]]) -> float:
    """The largest difference as a part of the largest expected value; infinite where it is no number."""
    parts = [
        float(np.max(np.abs(one.astype(np.float32) - other)) / np.max(np.abs(other)))
        for one, other in zip(found, expected, strict=True)
    ]
    return max(parts) if np.isfinite(parts).all() else float("inf")


def ratio(pairs: NDArray[Any]) -> list[float]:
    """How many times as fast the second is, with its interval."""
    found = compare_rows([pairs])[0]
    return [found.speedup, *found.interval]


if __name__ == "__main__":
    main()
