"""Ways of running one of `examples/models`, each in a process of its own: what `models.py` compares.

One process each, and not one for all: every one of these libraries has a pool of threads, which goes on
turning for a while after its work is done, and their OpenMP libraries and allocators get in each other's way.
Here all but one process are blocked on a pipe, and each keeps its library's own settings.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.models import CPU_MODELS

Outputs = list[NDArray[Any]]
SCOPE = "model"
START_S, SAMPLE_S = 600.0, 300.0
"""At most, for loading and compiling, and for one sample."""


@dataclass(frozen=True)
class Contender:
    """One way of running a model.

    Attributes:
        name: in tables.
        library: a key of `LIBRARIES`.
        settings: what its function takes beside the model's name, the folder and the number of threads.
    """

    name: str
    library: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to run: what is timed, and what reads its results."""

    call: Callable[[], Any]
    read: Callable[[Any], Outputs]


def inputs_of(model: str, folder: Path) -> Outputs:
    """The inputs that were exported with a model."""
    return _numbered(folder / f"{model}.npz", "input")


def expected_of(model: str, folder: Path) -> Outputs:
    """What PyTorch computed from them when they were exported."""
    return _numbered(folder / f"{model}.npz", "output")


def _numbered(path: Path, kind: str) -> Outputs:
    with np.load(path) as values:
        return [values[f"{kind}{index}"] for index in range(sum(name.startswith(kind) for name in values))]


def load_iree(model: str, folder: Path, threads: int, vmfb: str) -> Loaded:
    """A compiled program on `local-task`, its weights from the parameter file."""
    import iree.runtime as rt

    rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    config = rt.Config(device=rt.get_device("local-task"))
    index = rt.ParameterIndex()
    index.load(str(folder / f"{model}.irpa"))
    parameters = rt.create_io_parameters_module(config.vm_instance, index.create_provider(scope=SCOPE))
    hal = rt.create_hal_module(config.vm_instance, config.device)
    program = rt.VmModule.mmap(config.vm_instance, vmfb)
    context = rt.VmContext(config.vm_instance, modules=[parameters, hal, program])
    main = rt.FunctionInvoker(context, config.device, program.lookup_function("main"))
    arguments = [rt.asdevicearray(config.device, each) for each in inputs_of(model, folder)]
    return Loaded(lambda: main(*arguments), _as_numpy)


def load_onnxruntime(model: str, folder: Path, threads: int) -> Loaded:
    """The ONNX file on onnxruntime's own CPU kernels."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    path = str(folder / f"{model}.onnx")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    feeds = dict(zip(names, inputs_of(model, folder), strict=True))
    return Loaded(lambda: session.run(None, feeds), _as_numpy)


def load_jax(model: str, folder: Path, threads: int) -> Loaded:  # noqa: ARG001 (as many as there are cores)
    """The jitted function; XLA takes the cores that the process may use."""
    import jax

    from examples.models.in_jax import jax_function

    function = jax_function(CPU_MODELS[model])
    arguments = [jax.device_put(each) for each in inputs_of(model, folder)]
    return Loaded(lambda: jax.block_until_ready(function(*arguments)), _as_numpy)


def load_torch(model: str, folder: Path, threads: int, compiled: bool = False) -> Loaded:
    """The PyTorch module, as it is or through `torch.compile`, which may pack the weights (freezing)."""
    import torch

    from examples.models.in_torch import torch_module

    torch.set_num_threads(threads)
    module = torch_module(CPU_MODELS[model])
    function = torch.compile(module, options={"freezing": True}) if compiled else module
    arguments = [torch.from_numpy(each) for each in inputs_of(model, folder)]

    @torch.inference_mode()
    def call() -> Any:
        return function(*arguments)

    return Loaded(call, _as_numpy)


def _as_numpy(outputs: Any) -> Outputs:
    several = outputs if isinstance(outputs, tuple | list) else [outputs]
    return [np.asarray(each) for each in several]


LIBRARIES: dict[str, Callable[..., Loaded]] = {
    "iree": load_iree,
    "onnxruntime": load_onnxruntime,
    "jax": load_jax,
    "torch": load_torch,
}


class Running:
    """A contender in its process, with the model loaded and run once.

    Attributes:
        contender: which one.
        error: how far its results are from the expected ones, as a part of the largest.
    """

    def __init__(self, contender: Contender, model: str, folder: Path, cores: Sequence[int]) -> None:
        self.contender = contender
        context = mp.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, contender, model, folder, tuple(cores)), daemon=True
        )
        self._process.start()
        theirs.close()
        self.error: float = self._answer(START_S)

    def sample(self, least_s: float) -> float:
        """Microseconds of a call: the mean of as many as fit into the time, after one that is not timed."""
        self._pipe.send(least_s)
        return self._answer(SAMPLE_S)

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self, limit_s: float) -> float:
        """What the process says. Raises RuntimeError with its reason."""
        if not self._pipe.poll(limit_s):
            self.close()
            raise RuntimeError(f"no answer in {limit_s:.0f} s")
        try:
            answer = self._pipe.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(f"the process ended ({self._process.exitcode})") from None
        if isinstance(answer, str):
            self.close()
            raise RuntimeError(answer)
        return answer


def _serve(pipe: Connection, contender: Contender, model: str, folder: Path, cores: Sequence[int]) -> None:
    """The process: load, check, then a sample for each length that comes."""
    os.sched_setaffinity(0, cores)  # before the library starts its threads, some of which count the cores
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # docs/upstream/wait_spins_on_waker.md
    try:
        loaded = LIBRARIES[contender.library](model, folder, len(cores), **contender.settings)
        pipe.send(_error(loaded.read(loaded.call()), expected_of(model, folder)))
        while True:
            pipe.send(_mean_us(loaded.call, pipe.recv()))
    except EOFError:
        return
    except Exception as error:  # whatever a library raises is this contender's result
        pipe.send(f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}")


def _mean_us(call: Callable[[], Any], least_s: float) -> float:
    call()  # brings code and data back into the caches, which others have used since
    count, start = 0, time.perf_counter()
    while True:
        call()
        count += 1
        passed = time.perf_counter() - start
        if passed >= least_s:
            return 1e6 * passed / count


def _error(found: Outputs, expected: Outputs) -> float:
    """The largest difference as a part of the largest expected value; infinite for another shape or NaN."""
    if [each.shape for each in found] != [each.shape for each in expected]:
        return float("inf")
    parts = [
        float(np.max(np.abs(one - other)) / np.max(np.abs(other)))
        for one, other in zip(found, expected, strict=True)
    ]
    return max(parts) if np.isfinite(parts).all() else float("inf")
