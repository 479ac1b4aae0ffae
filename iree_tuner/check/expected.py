"""The expected results of a dispatch: the default's, or a reference's. See `check.check`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.check.device_check import CheckProgram, DeviceCheck, integers
from iree_tuner.check.untouched import Kept, kept
from iree_tuner.device.bench import Bench, Tolerance
from iree_tuner.device.data import (
    fill,
    kind_of,
    magnitudes_of,
    span,
    step_of,
    stepped_of,
    values_in,
    written,
)
from iree_tuner.device.memory import Memory, StagedMemory, run_commands, uploaded
from iree_tuner.device.numerics import Floats, numbers, partial_sums, same_bytes
from iree_tuner.device.runner import LoadedDispatch
from iree_tuner.targets import on_host

if TYPE_CHECKING:
    from iree_tuner.check.reference import OnHost, Unsupported

Buffer = npt.NDArray[np.uint8]
Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Expected:
    """The default's results for one seed.

    Attributes:
        values: each output.
        magnitudes: its results for the inputs' absolute values; see `device.numerics`.
        sums: what partial sums reach at least, where results do not show it (`numerics.partial_sums`).
        kept: what a candidate must leave alone, since the default does.
        tolerance: of results.
    """

    values: list[Array]
    magnitudes: list[Array]
    sums: list[Floats | None]
    kept: list[Kept]
    tolerance: Tolerance


@dataclass(frozen=True)
class _OnDevice:
    """The same where the device compares.

    Attributes:
        checks: the check against the default, and checks against other correct values.
        numbers: all that the default makes is finite.
    """

    checks: list[DeviceCheck]
    numbers: bool


class Expectations:
    """The default's results of one bench for each seed, computed at the first use.

    Args:
        bench: the dispatch, the default and the tolerance.
        memory: what the default runs on; one of its own where none is given.
    """

    def __init__(self, bench: Bench, memory: Memory | None = None) -> None:
        self._bench = bench
        self._memory = memory
        self._harness = bench.harness
        self.written = written(bench.harness.bindings)
        self._expected: dict[int, Expected] = {}
        self._on_device: dict[int, _OnDevice] = {}
        self._masks: dict[tuple[Kept, ...], rt.HalBuffer] = {}
        self._references: dict[int, list[Array] | Unsupported] = {}
        self._on_host: OnHost | None = None
        self._size = max(bench.harness.buffer_bytes, 1)

    @cached_property
    def default(self) -> LoadedDispatch:
        """The compiler's own choice, loaded."""
        return LoadedDispatch(self._bench.default, self._harness, self._bench.device, self._memory)

    @cached_property
    def _program(self) -> CheckProgram:
        return CheckProgram(self._bench)

    def of(self, seed: int) -> Expected:
        """The expected results of a seed. Afterwards, the device's memory has its contents again."""
        if seed not in self._expected:
            memory = self.default.memory
            held = memory.snapshot() if isinstance(memory, StagedMemory) else None
            self._expected[seed] = self._made(seed)
            if held is not None and isinstance(memory, StagedMemory):
                memory.restore(held)
        return self._expected[seed]

    def _made(self, seed: int) -> Expected:
        magnitudes: list[Array] = []
        if kind_of(seed) != "positive":
            magnitudes = self._values(self._run(magnitudes_of(seed)))
        stepped = self._values(self._run(stepped_of(seed))) if self._harness.bounded else []
        got = self._run(seed)
        self._size = len(got)
        values = self._values(got)
        left = self._left_alone(got, seed)
        magnitudes = magnitudes or values  # of positive inputs
        if self._bench.by_reference and isinstance(reference := self.reference(seed), list):
            values = reference
        sums: list[Floats | None] = [None] * len(values)
        if stepped:
            step = step_of(self._harness.bindings)
            alike = self._bench.tolerance.reduction_length if kind_of(seed) == "positive" else 1
            sums = [partial_sums(*pair, step, alike) for pair in zip(values, stepped, strict=True)]
        tolerance = self._bench.tolerance.on(kind_of(seed))
        return Expected(values, magnitudes, sums, left, tolerance)

    def _left_alone(self, got: Buffer, seed: int) -> list[Kept]:
        """The bytes that the default does not write, which a candidate may write: padding, for example."""
        image = self.image(seed, len(got))
        every = kept(self._harness.bindings, len(got))
        return [
            each for each in every if same_bytes(got[each.start : each.end], image[each.start : each.end])
        ]

    def _run(self, seed: int) -> Buffer:
        self.default.fill(seed)
        self.default.run(1)
        return self.default.read()

    def on_device(self, seed: int) -> list[DeviceCheck]:
        """Compares a seed's results on the device: with the default's first; none where the host does.

        Afterwards, the contents of the device's memory are lost.
        """
        found = self._there(seed)
        return found.checks if found else []

    def are_numbers(self, seed: int) -> bool:
        """Whether all of the default's results for a seed are finite."""
        found = self._there(seed)
        return found.numbers if found else all(numbers(each) for each in self.of(seed).values)

    def is_right_too(self, seed: int, values: list[Array]) -> None:
        """Have the device recognise other values of a seed, too."""
        if checks := self.on_device(seed):
            checks.append(self._check_of(seed, values))

    def _there(self, seed: int) -> _OnDevice | None:
        memory = self.default.memory
        if not self._bench.check or not isinstance(memory, StagedMemory):
            return None
        if seed not in self._on_device:
            compared = self._bench.by_reference and isinstance(self.reference(seed), list)
            if compared or self._harness.bounded:
                values = self.of(seed).values
                found = _OnDevice([self._check_of(seed, values)], all(numbers(each) for each in values))
            else:
                found = self._made_there(memory, seed)
            self._on_device[seed] = found
        return self._on_device[seed]

    def _made_there(self, memory: StagedMemory, seed: int) -> _OnDevice:
        """By results that stay on the device."""
        runs = [seed] if kind_of(seed) == "positive" else [magnitudes_of(seed), seed]
        made: list[rt.HalBuffer] = []
        for each in runs:
            self.default.fill(each)
            self.default.run(1)
            made.append(memory.snapshot())
        magnitudes, expected = made[0], made[-1]
        wanted, finite = self._program.allowed(expected, magnitudes, self._bench.tolerance.on(kind_of(seed)))
        exact, every = memory.image(seed), tuple(kept(self._harness.bindings, self._harness.stride))
        if equal := integers(self._harness):
            exact = memory.copy_of(exact)
            commands = rt.HalCommandBuffer(self._program.device, begin=True)
            for start, size in (span(*each) for each in equal):
                commands.copy(expected, exact, start, start, length=size, end=False)
            commands.end()
            run_commands(self._program.device, commands)
        mask = self._mask(every)
        if self._program.compare(expected, exact, mask, wanted)[0]:
            mask = self._mask(tuple(self._left_alone(memory.read_of(expected), seed)))
        return _OnDevice([DeviceCheck(self._program, exact, mask, wanted)], finite)

    def _check_of(self, seed: int, values: list[Array]) -> DeviceCheck:
        """By values that the host has."""
        expected = self.of(seed)
        exact = self.image(seed, self._harness.stride).copy()
        for (binding, tensor, _), own in zip(self.written, values, strict=True):
            if (binding, tensor) in integers(self._harness):
                start, size = span(binding, tensor)
                exact[start : start + size] = np.ascontiguousarray(own).reshape(-1).view(np.uint8)
        wanted = self._program.allowed_by_host(values, expected.magnitudes, expected.sums, expected.tolerance)
        there = uploaded(self._program.device, exact)
        return DeviceCheck(self._program, there, self._mask(tuple(expected.kept)), wanted)

    def _mask(self, ranges: tuple[Kept, ...]) -> rt.HalBuffer:
        if ranges not in self._masks:
            self._masks[ranges] = self._program.mask(ranges)
        return self._masks[ranges]

    def reference(self, seed: int) -> list[Array] | Unsupported:
        """An interpreter's results for a seed, or why there are none (too large, for example)."""
        if seed not in self._references:
            from iree_tuner.check.reference import (  # it loads the compiler
                Unsupported,
                read_ahead,
                reference_outputs,
            )

            # Ops that it does not interpret depend on no values.
            found = next((each for each in self._references.values() if isinstance(each, Unsupported)), None)
            found = found or read_ahead(self._harness, self._bench.references, seed)
            if found is None:
                found = reference_outputs(self._harness, self.image(seed, self._size))
            self._references[seed] = found
        return self._references[seed]

    def arbiter(self, seed: int) -> list[Array] | Unsupported:
        """The reference, or the processor's results if there is none and the device is another."""
        found = self.reference(seed)
        if isinstance(found, list) or on_host(self._bench.device):
            return found
        if self._on_host is None:
            from iree_tuner.check.reference import OnHost  # it loads the compiler

            self._on_host = OnHost(self._bench)
        self._references[seed] = found = self._on_host.outputs(seed)
        return found

    def image(self, seed: int, size: int) -> Buffer:
        """The buffer before a run, as the host has it."""
        return fill(self._harness.bindings, size, seed)

    def _values(self, buffer: Buffer) -> list[Array]:
        return [values_in(buffer, binding, tensor).copy() for binding, tensor, _ in self.written]
