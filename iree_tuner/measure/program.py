"""Whole programs: run their functions on generated inputs, and compare two compilations of one program."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt
from iree.runtime.array_interop import map_dtype_to_element_type

from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.measure.data import dtype_of, random_values
from iree_tuner.measure.judging import JudgePlan, judge
from iree_tuner.measure.numerics import Agreement, compare
from iree_tuner.measure.runner import device_for
from iree_tuner.measure.sampling import interleave
from iree_tuner.measure.sensors import sensors_for
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.dynamic import Size, size_for

_DECLARATION = "iree.abi.declaration"
_INPUT = re.compile(r"%input\d+: (tensor<[^>]*>|\w+)")
_TIMEOUT_S = 600.0
_PAIRS_KEPT = 4  # one for each place of the code


@dataclass(frozen=True)
class ProgramComparison:
    """One program, compiled in two ways.

    Attributes:
        function: the entry function that was run.
        comparison: times, with the program's default in the place of the default.
        agreement: whether the results are the same, within the types' tolerance.
    """

    function: str
    comparison: Comparison
    agreement: Agreement


def compare_programs(
    placed: Sequence[tuple[bytes, bytes]], device: str, workers: Workers, rounds: int, reduction_length: int,
    sizes: Sequence[Size] = (), *, batch_s: float = 0.05,
) -> ProgramComparison:  # fmt: skip
    """Interleave two compilations of a program, in the measuring worker, on the same inputs.

    Args:
        placed: for each place of the code, the program as the compiler makes it and with the spec.
        device: device URI.
        workers: the measuring worker.
        rounds: pairs of batches at most, over all places.
        reduction_length: longest sum that a result passes through, for the numerical tolerance.
        sizes: those that stand for dynamic dimensions of the inputs.
        batch_s: least length of a sample, in seconds.

    Raises:
        TunerError: no function can be run: inputs of unknown size, or types without values.
        WorkerCrashError, WorkerTimeoutError: the program died or did not come back.
    """
    chosen = tuple(sizes)
    found = [
        workers.call(_agree_here, *pair, device, chosen, reduction_length, timeout_s=_TIMEOUT_S)
        for pair in placed
    ]
    function = found[0][0]
    agreement = max((each for _, each in found), key=lambda each: each.worst)

    def take(more: int) -> list[list[list[float]]]:
        return [
            workers.call(_rounds_here, *pair, device, chosen, more, batch_s, timeout_s=_TIMEOUT_S)
            for pair in placed
        ]

    (comparison,) = judge(take, 1, JudgePlan(rounds))
    workers.call(_forget_here)
    return ProgramComparison(function, comparison, agreement)


class _LoadedProgram:
    """A program's first runnable function, loaded, with its inputs."""

    def __init__(self, vmfb: bytes, device: str, sizes: Sequence[Size]) -> None:
        config, hal = device_for(device)
        self._device = config.device
        module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
        try:
            self._context = rt.VmContext(config.vm_instance, modules=[hal, module])
        except (RuntimeError, ValueError) as error:
            raise TunerError(f"the program does not load: {str(error).splitlines()[0]}") from None
        self.name, self._function, self._inputs = _first_runnable(module, sizes)
        self._arguments: Any = None

    def set_inputs(self, seed: int) -> None:
        """Put generated inputs on the device."""
        rng = np.random.default_rng(seed)
        arguments = rt.VmVariantList(len(self._inputs))
        for shape, element_type in self._inputs:
            if shape is None:
                push = arguments.push_float if element_type.startswith("f") else arguments.push_int
                push(1)
                continue
            values = np.ascontiguousarray(random_values(shape, element_type, seed, rng))
            view = self._device.allocator.allocate_buffer_copy(
                memory_type=rt.MemoryType.DEVICE_LOCAL,
                allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
                device=self._device,
                buffer=values,
                element_type=_hal_type(element_type, values),
            )
            arguments.push_ref(cast(rt.VmRef, view))  # any ref object will do; the stubs name one
        self._arguments = arguments

    def run(self) -> rt.VmVariantList:
        """One invocation; its results."""
        results = rt.VmVariantList(4)
        self._context.invoke(self._function, self._arguments, results)
        return results

    def batch(self, count: int) -> float:
        """Seconds of so many invocations."""
        start = time.perf_counter()
        for _ in range(count):
            self.run()
        return time.perf_counter() - start

    def outputs(self) -> list[npt.NDArray[np.generic]]:
        """Results of one invocation as arrays."""
        results = self.run()
        found: list[npt.NDArray[np.generic]] = []
        for index in range(results.size):
            value = results.get_variant(index)
            if isinstance(value, rt.VmRef):
                view = cast(rt.HalBufferView, value.deref(rt.HalBufferView))
                found.append(rt.DeviceArray(self._device, view, implicit_host_transfer=True).to_host())
            else:
                found.append(np.asarray(value))
        return found


class _Invocations:
    """Takes samples of a program: the time of whole invocations, which is what its user waits for."""

    def __init__(self, program: _LoadedProgram, batch_s: float) -> None:
        self._program = program
        program.set_inputs(0)
        program.run()
        elapsed = min(program.batch(1) for _ in range(3))
        self._count = max(1, round(batch_s / max(elapsed, 1e-6)))

    def batch(self) -> float:
        """Microseconds of one invocation."""
        return self._program.batch(self._count) / self._count * 1e6


class _Pair:
    """A program's two compilations, and how many rounds they have had."""

    def __init__(self, default: bytes, tuned: bytes, device: str, sizes: tuple[Size, ...]) -> None:
        self.default, self.tuned = (_LoadedProgram(each, device, sizes) for each in (default, tuned))
        self.rounds = 0
        self._sources: tuple[_Invocations, _Invocations] | None = None

    def sources(self, batch_s: float) -> tuple[_Invocations, _Invocations]:
        """What is timed, on the inputs of seed 0."""
        if self._sources is None:
            self._sources = _Invocations(self.default, batch_s), _Invocations(self.tuned, batch_s)
        return self._sources


@lru_cache(_PAIRS_KEPT)
def _pair(default: bytes, tuned: bytes, device: str, sizes: tuple[Size, ...]) -> _Pair:
    return _Pair(default, tuned, device, sizes)


def _agree_here(
    default: bytes, tuned: bytes, device: str, sizes: tuple[Size, ...], reduction_length: int
) -> tuple[str, Agreement]:
    """Name of the function that is run, and whether its results are the same."""
    pair = _pair(default, tuned, device, sizes)
    return pair.default.name, _agreement(pair.tuned, pair.default, reduction_length)


def _forget_here() -> None:
    """Programs have weights: let go of them."""
    _pair.cache_clear()


def _rounds_here(
    default: bytes, tuned: bytes, device: str, sizes: tuple[Size, ...], rounds: int, batch_s: float
) -> list[list[float]]:
    """Rounds of one sample of each."""
    pair = _pair(default, tuned, device, sizes)
    sensors = sensors_for(device)
    sensors.start()
    rows = interleave(pair.sources(batch_s), sensors, rounds, start=pair.rounds)
    pair.rounds += rounds
    return rows


def _agreement(tuned: _LoadedProgram, default: _LoadedProgram, reduction_length: int) -> Agreement:
    worst = 0.0
    for seed in (0, 1):
        for program in (tuned, default):
            program.set_inputs(seed)
        for got, expected in zip(tuned.outputs(), default.outputs(), strict=True):
            kind = _mlir_name(expected.dtype)
            found = compare(got, expected, kind, kind, reduction_length)
            if not found.ok:
                return Agreement(False, found.worst, f"seed {seed}: {found.message}")
            worst = max(worst, found.worst)
    return Agreement(True, worst)


Input = tuple[tuple[int, ...] | None, str]  # shape (None for a scalar) and element type


def _first_runnable(module: rt.VmModule, sizes: Sequence[Size]) -> tuple[str, rt.VmFunction, list[Input]]:
    refused: list[str] = []
    for name in module.function_names:
        function = module.lookup_function(name)
        declaration = function.reflection.get(_DECLARATION) if function is not None else None
        if function is None or declaration is None or name.endswith("$async"):
            continue
        inputs = [_input(text, i, sizes) for i, text in enumerate(_INPUT.findall(declaration))]
        known = [found for found in inputs if found is not None]
        if len(known) == len(inputs):
            return name, function, known
        refused.append(name)
    if refused:
        raise TunerError(f"inputs of {', '.join(refused)} have sizes or types that cannot be generated")
    raise TunerError("the program has no entry function with a known signature")


def _input(text: str, number: int, sizes: Sequence[Size]) -> Input | None:
    """`tensor<2x3xf32>` or a scalar type, as IREE's ABI declaration writes it; a `?` has its given size."""
    if not text.startswith("tensor<"):
        return (None, text) if dtype_of(text) is not None else None
    *written, element_type = text[len("tensor<") : -1].split("x")
    shape = [int(size) if size.isdigit() else size_for(sizes, (number, i)) for i, size in enumerate(written)]
    known = tuple(size for size in shape if size is not None)
    return (known, element_type) if dtype_of(element_type) and len(known) == len(shape) else None


def _hal_type(element_type: str, values: npt.NDArray[np.generic]) -> rt.HalElementType:
    if element_type == "i1":
        return rt.HalElementType.BOOL_8
    found = map_dtype_to_element_type(values.dtype)
    if found is None:
        raise TunerError(f"the runtime has no element type for {element_type}")
    return found


_MLIR_NAMES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "complex64": "complex<f32>",
}


def _mlir_name(dtype: np.dtype[np.generic]) -> str:
    return _MLIR_NAMES.get(dtype.name, "i32")
