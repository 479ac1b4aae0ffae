"""Whole models on a GPU: tuned, and then the defaults, the tuned program and PyTorch in one interleaved run.

    python examples/models/export.py --model llama_block --program-only --output FOLDER
    python examples/models/export.py --model resnet50 --program-only --output FOLDER
    python benchmarks/gpu_models.py FOLDER --device cuda://0 --budget 240 --json rows.jsonl

The weights are written beside the program where they are not there. All run the same model on the same
weights and inputs, in one process; a sample is the mean of as many calls as take 20 ms, each waited for, in
an order that changes from round to round. Where the results differ from PyTorch's by more than the model's
tolerance, that is said; a tuned program that differs is not timed. PyTorch runs as it is, without
`torch.compile`, and without TF32. Prints a JSON object a model.

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
from dataclasses import dataclass, replace
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
from iree_tuner.kernels.bench import SPEC_FLAG, look_at, winners
from iree_tuner.kernels.contest import hold_contest
from iree_tuner.kernels.registry import usual_kernels
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program, load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.versions import with_spec

SAMPLE_S = 0.02


@dataclass(frozen=True)
class Contender:
    """A way to run a model.

    Attributes:
        name: in the results.
        call: one call, waited for.
        error: how far its results are from PyTorch's, as a part of the largest.
    """

    name: str
    call: Callable[[], None]
    error: float

    def batch(self) -> float:
        """Microseconds of a call."""
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < SAMPLE_S or not count:
            self.call()
            count += 1
        return passed / count * 1e6


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
    """Times and ratios of the three, taken in turns while nothing compiles."""
    with Workers(1) as workers:
        default = compile_program(program, target_for_device(given.device[0], given.chip), workers).data
    codes = {"default": default, "tuned": result.vmfb()}
    contests: list[dict[str, object]] = []
    if given.kernels is not None:
        code, contests = with_kernels(program, result, given, folder)
        codes |= {"kernels": code} if code else {}
    torch_call, expected = on_torch(model)
    contenders: list[Contender] = []
    for name, code in codes.items():
        path = folder / f"{name}.vmfb"
        path.write_bytes(code)
        loaded = LoadedProgram(str(path), given.device[0], run)
        contenders.append(Contender(name, loaded.run, error_of(loaded.results()[0], expected)))
    contenders.append(Contender("PyTorch", torch_call, 0.0))
    errors = {each.name: each.error for each in contenders}
    wrong = [each.name for each in contenders if not each.error <= model.tolerance]
    problem = {"problem": f"differ from PyTorch: {', '.join(wrong)}"} if wrong else {}
    if "tuned" in wrong:
        return {"errors": errors, "contests": contests, **problem}
    for each in contenders:
        each.batch()
    sensors = sensors_for(given.device[0])
    sensors.start()
    rows = np.asarray(interleave(contenders, sensors, given.rounds))
    medians = np.median(rows, axis=0)
    more = {
        "kernels_over_tuned": ratio(rows[:, [1, 2]]), "kernels_over_default": ratio(rows[:, [0, 2]]),
        "kernels_over_torch": ratio(rows[:, [3, 2]]),
    } if "kernels" in codes else {}  # fmt: skip
    return {
        "errors": errors,
        "contests": contests,
        **more,
        **problem,
        "median_us": {each.name: float(us) for each, us in zip(contenders, medians, strict=True)},
        "tuned_over_default": ratio(rows[:, [0, 1]]),
        "tuned_over_torch": ratio(rows[:, [-1, 1]]),
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


def on_torch(model: Model) -> tuple[Callable[[], None], list[NDArray[Any]]]:
    """A call on the GPU that is waited for, and what it computes."""
    import torch

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    module = torch_module(model).cuda()
    inputs = [each.cuda() for each in torch_inputs(model)]

    def call() -> None:
        with torch.inference_mode():
            module(*inputs)
        torch.cuda.synchronize()

    with torch.inference_mode():
        expected = [each.float().cpu().numpy() for each in module(*inputs)]
    return call, expected


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
