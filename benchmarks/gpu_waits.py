"""Calls of a tuned program that are waited for: by its fence, and by reading its semaphore.

    python examples/models/export.py --model llama_block --program-only --output FOLDER
    python benchmarks/gpu_waits.py FOLDER --model llama_block --budget 60

The program is tuned, and compiled with fences and memory from the caller. It is timed with each call waited
for in both ways, and with calls in flight, under flags of the runtime; and once more while processes of the
lowest priority (SCHED_IDLE) keep all cores but one awake. Prints medians of seven samples of 60 calls, in
microseconds of a call, and for the second way the parts before and after the call is handed over. On
CUDA, a CUDA graph of the same model in PyTorch is timed too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import iree.runtime as rt
import torch
from gpu_models import run_of
from torch_on_gpu import as_graph, torch_calls

from examples.models import GPU_MODELS, MODELS
from examples.models.in_torch import torch_inputs, torch_module
from examples.models.to_mlir import write_parameters
from iree_tuner import tune_module
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.targets.registry import kind_of_device
from iree_tuner.tuning.source import usual_sources
from iree_tuner.tuning.versions import FENCES

SAMPLES, CALLS = 7, 60

Graph = Callable[[bool, int], float]
"""Seconds of so many calls, each waited for or in flight."""


class ByFence(LoadedProgram):
    """Waits for the fence of the last call."""

    def _wait(self) -> None:
        rt.HalFence.create_at(self._semaphore, self._begun).wait()


def main() -> None:
    """Tune, and print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what examples/models/export.py wrote")
    parser.add_argument("--model", choices=list(MODELS | GPU_MODELS), default="llama_block")
    parser.add_argument("--device", default="cuda://0")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tuning")
    given = parser.parse_args()
    model = (MODELS | GPU_MODELS)[given.model]
    program = load_program(given.folder / f"{model.name}.mlir")
    weights = given.folder / f"{model.name}.irpa"
    if not weights.exists():
        write_parameters(model.weights().draw(), weights)
    backend = target_for_device(given.device, "host").backend
    with tempfile.TemporaryDirectory() as name:
        run = run_of(program, model, weights, Path(name))
        sources = usual_sources(backend)
        result = tune_module(program, device=[given.device], budget_s=given.budget, run=run, sources=sources)
        path = Path(name) / "program.vmfb"
        path.write_bytes(result.vmfb((FENCES,), provided_memory=True))
        flags = kind_of_device(given.device).runtime_flags(given.device, os.cpu_count() or 1)
        ways = {"defaults": (), **{each.text: (each,) for each in flags}}
        pairs = {
            what: [way(str(path), given.device, run, runtime=own) for way in (ByFence, LoadedProgram)]
            for what, own in ways.items()
        }
        graph = graph_of(given.model, given.device)
        table("as it is", pairs, graph)
        with cores_awake():
            table("all cores but one kept awake", pairs, graph)


def table(title: str, pairs: dict[str, list[LoadedProgram]], graph: Graph | None) -> None:
    """Print a line for each choice of flags."""
    print(f"{title}:")
    for what, (fence, reading) in pairs.items():
        times = [median(fence.batch), median(reading.batch), median(partial(reading.batch, in_flight=True))]
        before, after = parts_of(reading)
        shown = "fence {:.1f}, semaphore {:.1f}, in flight {:.1f}".format(*times)
        print(f"  {what}: {shown}; before it is handed over {before:.1f}, after {after:.1f}", flush=True)
    if graph is not None:
        waited, flight = (median(lambda count, way=way: graph(way, count)) for way in (True, False))
        print(f"  PyTorch, CUDA graph: waited for {waited:.1f}, in flight {flight:.1f}", flush=True)


def median(seconds_of: Callable[[int], float]) -> float:
    """Microseconds of a call."""
    seconds_of(5)
    return statistics.median(seconds_of(CALLS) / CALLS * 1e6 for _ in range(SAMPLES))


def parts_of(program: LoadedProgram) -> tuple[float, float]:
    """Microseconds of a call until it is handed over, and from then on."""
    before = after = 0.0
    for _ in range(CALLS):
        start = time.perf_counter()
        for each in program._functions:
            program._begin(each)
        begun = time.perf_counter()
        program._wait()
        before, after = before + begun - start, after + time.perf_counter() - begun
    return before / CALLS * 1e6, after / CALLS * 1e6


def graph_of(name: str, device: str) -> Graph | None:
    """Calls of a CUDA graph of the model in PyTorch; None on other devices."""
    if not device.startswith("cuda"):
        return None
    model = (MODELS | GPU_MODELS)[name]
    module = torch_module(model).cuda().to(memory_format=torch.channels_last)
    inputs = [each.cuda() for each in torch_inputs(model)]
    with torch.inference_mode():
        for _ in range(3):
            module(*inputs)
        replay = as_graph(module, inputs)
    return lambda waits, count: torch_calls(replay, inputs, waits, count)


@contextmanager
def cores_awake() -> Iterator[None]:
    """Have all cores but one run something that gives way to everything else."""
    command = ["chrt", "--idle", "0", sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range((os.cpu_count() or 1) - 1)]
    try:
        time.sleep(1.0)
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


if __name__ == "__main__":
    main()
