"""Whole models on a GPU: tuned, and then defaults, tuned programs and PyTorch in one interleaved run.

    python examples/models/export.py --model gpu --program-only --output FOLDER
    python benchmarks/gpu_models.py FOLDER --kernels --budget 115 --seconds 3360 --json rows.jsonl

The first command needs JAX; the second one does not. Where weights are missing, they are drawn from the seed
and written to the folder. All run the same model on the same weights and inputs, in one process for each
model. A sample is the mean of as many calls as take 20 ms, in an order that changes from round to round.
Everyone is timed in two ways: with each call waited for, and with calls in flight, of which the last is
waited for (IREE: functions with fences, each of which waits for the one before it; PyTorch: one stream).
A tuned program is also timed as functions whose results and temporary values have their places, which
are given once (`iree-tuner compile --provided-memory`), as those of a CUDA graph have. They have fences in
both ways. The host that waits for such a call stays awake, as it does in `torch.cuda.synchronize`.

PyTorch runs eagerly; as a CUDA graph of that, replayed on inputs that stay in place; compiled
(`torch.compile`); and compiled with `max-autotune`, which tunes its kernels and replays CUDA graphs.
Attention is `scaled_dot_product_attention`, images are in `channels_last`, cuDNN tries its algorithms
(`cudnn.benchmark`), and f32 is computed without TF32.

Where results differ from eager PyTorch's by more than the model's tolerance, that is said. A tuned program
that differs ends the comparison, except without kernels where IREE's default differs as well. Prints a JSON
object a model: median times, and how many times as fast each tuned program is as each of the others that are
timed in the same way. A model that fails has a row with the reason (`problem`).

With `--kernels` each model is tuned twice, in equal times: once external kernels compete with configurations,
and once there are none (`tuned without kernels`). `--seconds` is shared out among the models. Tuning takes at
most 60 % of a share. Ways of PyTorch that are not ready in time are left out, with a note. A model that takes
a minute more than its share is stopped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from roofs import launches_of, roofs_of
from torch_on_gpu import SAMPLE_S, Contender, error_of, on_torch

from examples.models import (
    DRAWN_KINDS,
    FEW_BITS,
    FIFTH_KINDS,
    FOURTH_KINDS,
    FURTHER_GPU_MODELS,
    GPU_KINDS,
    GPU_MODELS,
    LARGE_MODELS,
    MODELS,
    SECOND_KINDS,
    THIRD_KINDS,
)
from examples.models.model import Model
from examples.models.to_mlir import write_parameters
from iree_tuner import TuningResult, tune_module
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.sensors import sensors_for
from iree_tuner.measure.sampling import interleave
from iree_tuner.measure.statistics import Comparison, compare_rows
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program, load_program
from iree_tuner.targets import target_for_device, with_flags
from iree_tuner.targets.kind import RuntimeFlag
from iree_tuner.tuning.source import usual_sources
from iree_tuner.tuning.versions import FENCES

EVERY = (
    MODELS
    | GPU_MODELS
    | FURTHER_GPU_MODELS
    | GPU_KINDS
    | DRAWN_KINDS
    | SECOND_KINDS
    | THIRD_KINDS
    | FOURTH_KINDS
    | FIFTH_KINDS
    | LARGE_MODELS
    | FEW_BITS
)
TUNED, WITHOUT = "tuned", "tuned without kernels"
PROVIDED, GRAPHS = ", memory provided", ", as graphs"
AS_GRAPHS = (RuntimeFlag("--cuda_use_streams=false", "--cuda_use_streams=true"),)
SOON_S = 60.0
"""A process that fails so early has lost little: it is begun once more."""
TUNING_PART = 0.6
COMPARING_S = 35.0
"""Of the end of a model's time, in which programs are timed and no way of PyTorch is compiled any more."""
ROUNDS_S = 60.0
"""There are fewer rounds where they would take longer, though not fewer than LEAST_ROUNDS."""
LEAST_ROUNDS = 12
GRACE_S = 60.0


def main() -> None:
    """Tune and compare each model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what examples/models/export.py wrote")
    parser.add_argument("--model", action="append", choices=list(EVERY))
    parser.add_argument("--device", action="append", help="cuda://0; several are used side by side")
    parser.add_argument("--chip", default="host")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--budget", type=float, default=240.0, help="seconds of tuning for each model")
    parser.add_argument("--seconds", type=float, help="for all models together")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--kernels", action="store_true", help="let external kernels compete")
    parser.add_argument("--kernels-only", action="store_true", help="only with external kernels")
    parser.add_argument(
        "--graphs", action="store_true", help="with memory provided, also as CUDA graphs of IREE's driver"
    )
    parser.add_argument("--tune-only", action="store_true", help="compare with nothing")
    parser.add_argument("--specs", type=Path, help="folder for specs and pages")
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.device = given.device or ["cuda://0"]
    end = time.monotonic() + (given.seconds or 1e9)
    if given.alone:
        tell(row_of(EVERY[given.alone], given, end), given)
        return
    names = given.model or list(GPU_MODELS)
    for number, name in enumerate(names):
        share = (end - time.monotonic()) / (len(names) - number)
        start = time.monotonic()
        problem = in_a_process(name, share if given.seconds else None)
        if problem and time.monotonic() - start < SOON_S:
            print(f"{name}: once more after: {problem}", file=sys.stderr)
            problem = in_a_process(name, share if given.seconds else None)
        if problem:
            tell({"model": name, "problem": problem}, given)


def tell(row: dict[str, Any], given: argparse.Namespace) -> None:
    """Print a row, and append it to the file."""
    print(json.dumps(row), flush=True)
    if given.json:
        with given.json.open("a") as file:
            file.write(json.dumps(row) + "\n")


def in_a_process(name: str, seconds: float | None) -> str:
    """Why a model failed in a process of its own, which an error of the device may end; empty if not."""
    command = [sys.executable, __file__, *sys.argv[1:], "--alone", name]
    if seconds is not None:
        command += ["--seconds", str(seconds)]
    limit = None if seconds is None else max(seconds, 0.0) + GRACE_S
    with tempfile.TemporaryFile("w+") as errors:
        try:
            status = subprocess.run(command, stderr=errors, timeout=limit, check=False).returncode
            why = f"status {status}: " if status else ""
        except subprocess.TimeoutExpired:
            why = f"took more than {limit:.0f} s: "
        errors.seek(0)
        said = errors.read()
    sys.stderr.write(said)
    return why and why + "".join(said.strip().splitlines()[-1:])


def row_of(model: Model, given: argparse.Namespace, end: float) -> dict[str, Any]:
    """One model, tuned and compared, until about a time of the monotonic clock."""
    program = load_program(given.folder / f"{model.name}.mlir")
    weights = given.folder / f"{model.name}.irpa"
    begun = time.monotonic()

    def say(what: str) -> None:
        print(f"{model.name}: {what} after {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)

    if not weights.exists():
        write_parameters(model.weights().draw(), weights)
        say("weights drawn and written")
    backend = target_for_device(given.device[0], given.chip).backend
    ways = {TUNED: usual_sources(backend) if given.kernels or given.kernels_only else ()}
    if given.kernels and not given.kernels_only:
        ways[WITHOUT] = ()
    budget = min(given.budget, TUNING_PART / len(ways) * (end - time.monotonic()))
    with tempfile.TemporaryDirectory() as name:
        run = run_of(program, model, weights, Path(name))
        results: dict[str, TuningResult] = {}
        rows: dict[str, dict[str, Any]] = {}
        for way, sources in ways.items():
            start = time.perf_counter()
            results[way] = tune_module(
                program, device=given.device, chip=given.chip, effort=given.effort, budget_s=budget,
                run=run, sources=sources,
            )  # fmt: skip
            rows[way] = tuning_row(results[way], time.perf_counter() - start)
            say(f"{way}: {json.dumps({**rows[way], 'workloads': []})}")
            if given.specs:
                save(results[way], given.specs, f"{model.name}{'.without' if way == WITHOUT else ''}")
        result = results[TUNED]
        timed = {} if given.tune_only else compared(program, model, run, results, given, Path(name), end)
        launches = traced(result.vmfb(), run, given.device[0], Path(name))
        return {
            "model": model.name, "summary": model.summary, "devices": given.device, **rows.pop(TUNED),
            "explained": (
                round(before.explained_us / before.whole_us, 3) if (before := result.profiles[0]) else None
            ),
            "dispatches": [
                [row.name, row.calls, round(row.time_us, 1)] for row in (before.rows if before else ())
            ],
            **({"without_kernels": rows[WITHOUT]} if WITHOUT in rows else {}),
            **timed, "launches": launches, "roofs": roofs_of(result.changes_of("kernels"), launches),
        }  # fmt: skip


def tuning_row(result: TuningResult, seconds: float) -> dict[str, Any]:
    """What a tuning did and found."""
    return {
        "tuned_in_s": round(seconds, 1),
        "tried": result.pace.candidates, "per_hour": round(result.pace.per_hour),
        "busy": round(result.pace.busy, 3), "stages": result.time.seconds(),
        "kernels": [f"{each.where}: {each.how}" for each in result.changes],
        "own_verdict": ratio_of(result.comparison), "note": result.note,
        "flags": list(result.flags), "entries": len(result.entries), "left_out": len(result.left_out),
        "workloads": [workload_row(each) for each in result.results],
        "versions": [
            [step.what, step.against, ratio_of(step.comparison), step.error] for step in result.steps
        ],
    }  # fmt: skip


def save(result: TuningResult, folder: Path, name: str) -> None:
    """Its spec, and its page of kernels if there are any."""
    folder.mkdir(parents=True, exist_ok=True)
    result.save(folder / f"{name}.spec.mlir")
    if result.changes_of("kernels"):
        result.save_changes("kernels", folder / f"{name}.kernels.mlir")


def traced(vmfb: bytes, run: ProgramRun, device: str, folder: Path) -> list[list[Any]]:
    """What a program launches on the device: name, times per call and microseconds of all of them.

    Empty where the device has no trace.
    """
    path = folder / "traced.vmfb"
    path.write_bytes(vmfb)
    return launches_of(LoadedProgram(str(path), device, run).batch)


def run_of(program: Program, model: Model, weights: Path, folder: Path) -> ProgramRun:
    """The model on its example, with its weights."""
    paths: list[str] = []
    for index, value in enumerate(model.example()):
        np.save(folder / f"input{index}.npy", value)
        paths.append(str(folder / f"input{index}.npy"))
    return request(program, inputs=paths, parameters=[(None, str(weights))])


def workload_row(each: Any) -> dict[str, Any]:
    """A workload's outcome."""
    return {
        "workload": each.task.workload.name, "share": round(each.share, 4), "tried": len(each.trials),
        "verdict": each.verdict, "alone": ratio_of(each.comparison),
        "note": each.note, "competitors": [
            {"kernel": one.kind.name, "tried": len(one.trials), "alone": ratio_of(one.final.comparison)}
            for one in each.competitors
        ],
    }  # fmt: skip


def compared(
    program: Program, model: Model, run: ProgramRun, results: dict[str, TuningResult],
    given: argparse.Namespace, folder: Path, end: float,
) -> dict[str, Any]:  # fmt: skip
    """Times and ratios of all, taken in turns while nothing compiles."""
    codes = codes_of(program, results, given)
    contenders, expected, notes = on_torch(model, end - COMPARING_S)
    for number, (name, waits, code) in enumerate(codes):
        path = folder / f"{number}.vmfb"
        path.write_bytes(code)
        for also, runtime in (
            (("", ()), (GRAPHS, AS_GRAPHS)) if given.graphs and PROVIDED in name else (("", ()),)
        ):
            loaded = LoadedProgram(str(path), given.device[0], run, runtime)
            error = error_of(loaded.results()[0], expected)
            batch = partial(loaded.batch, in_flight=not waits)
            contenders.append(Contender(name + also, waits, batch, error))
    errors = {each.title: each.error for each in contenders}
    wrong = [each for each in contenders if not each.error <= model.tolerance]
    found: dict[str, Any] = {"errors": errors, "notes": notes}
    if wrong:
        found["problem"] = f"differ from PyTorch: {', '.join(each.title for each in wrong)}"
    names = {each.name for each in wrong}
    if names & {TUNED, TUNED + PROVIDED} or (
        "default" not in names and any(WITHOUT in name for name in names)
    ):
        return found
    round_us = sum(max(each.batch(), SAMPLE_S * 1e6) for each in contenders)
    rounds = max(LEAST_ROUNDS, min(given.rounds, int(ROUNDS_S * 1e6 / round_us)))
    sensors = sensors_for(given.device[0])
    sensors.start()
    samples = np.asarray(interleave(contenders, sensors, rounds))
    medians = np.median(samples, axis=0)
    return found | {
        "median_us": {each.title: float(us) for each, us in zip(contenders, medians, strict=True)},
        "rounds": rounds,
        "tuned_over": over(samples, contenders, TUNED),
        "provided_over": over(samples, contenders, TUNED + PROVIDED),
        "graphs_over": over(samples, contenders, TUNED + PROVIDED + GRAPHS),
        "without_kernels_over": over(samples, contenders, WITHOUT),
        "without_kernels_provided_over": over(samples, contenders, WITHOUT + PROVIDED),
        "readings": str(sensors.readings()),
    }


def codes_of(
    program: Program, results: dict[str, TuningResult], given: argparse.Namespace
) -> list[tuple[str, bool, bytes]]:
    """Compiled programs, side by side: name, and whether they are for calls that are waited for."""
    target = target_for_device(given.device[0], given.chip)

    def default(*flags: str) -> bytes:
        with Workers(1) as workers:
            return compile_program(program, with_flags(target, flags), workers).data

    with ThreadPoolExecutor() as pool:
        codes = [("default", True, pool.submit(default)), ("default", False, pool.submit(default, FENCES))]
        for name, result in results.items():
            provided = pool.submit(result.vmfb, (FENCES,), provided_memory=True)
            codes += [
                (name, True, pool.submit(result.vmfb)),
                (name, False, pool.submit(result.vmfb, (FENCES,))),
                (name + PROVIDED, True, provided),
                (name + PROVIDED, False, provided),
            ]
    return [(name, waits, code.result()) for name, waits, code in codes]


def over(samples: NDArray[np.float64], contenders: list[Contender], name: str) -> dict[str, Any]:
    """How many times as fast one is as each other that is timed in the same way; empty if it is not there."""
    own = {each.waits: index for index, each in enumerate(contenders) if each.name == name}
    return {
        each.title: ratio_of(compare_rows([samples[:, [index, own[each.waits]]]])[0])
        for index, each in enumerate(contenders)
        if own and index not in own.values()
    }


def ratio_of(found: Comparison | None) -> list[float] | None:
    """A speedup with its interval."""
    return [found.speedup, *found.interval] if found else None


if __name__ == "__main__":
    main()
