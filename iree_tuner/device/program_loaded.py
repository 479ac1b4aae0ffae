"""A program on a device, with its arguments and parameters. Runs in the measuring worker."""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.checks import Checks
from iree_tuner.device.data import stored, stored_size
from iree_tuner.device.memory import Recent, copied, fill_again, filled, hal_type, push, read_back, uploaded
from iree_tuner.device.numerics import FILLINGS, difference, equal, is_float
from iree_tuner.device.program_inputs import LoadedFunction, Signature, arguments_of, functions_of, values_of
from iree_tuner.device.program_parameters import with_parameters
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import (
    FEW,
    NARROW_BYTES,
    ErrorDepth,
    Spread,
    and_allowed,
    by_nudges,
    by_widened,
    loose_results,
    of_any_seed,
    stands_for,
)
from iree_tuner.device.slack import nudged as nudge
from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import NARROW_FLOATS, ElementType
from iree_tuner.program.entries import Taken
from iree_tuner.targets import on_host
from iree_tuner.targets.kind import RuntimeFlags
from iree_tuner.targets.runtime import RUNTIME_ERRORS, device_for, first_line

SEEDS = (0, 1, 2)
"""Seeds of the inputs for which results are compared."""

_MOST_KEPT = 1 << 29  # bytes
_LONG_S, _VERY_LONG_S = 0.2, 1.0  # an invocation
_AWAKE_S = 0.005
_MOST_DRAWN, _DRAWING_S = 8, 0.2  # invocations on inputs close to a seed's

Array = npt.NDArray[np.generic]
Alone = tuple[list[Array], list[Spread]]

_uploads: Recent[tuple[str, int], tuple[Array, rt.HalBuffer]] = Recent()
"""By device and `id` of an array: the array, which stays alive here, and its copy on the device."""


def forget_inputs() -> None:
    """Free the inputs on devices."""
    _uploads.clear()


@dataclass
class KnownResults:
    """Findings about a program's results, which stay true if it is loaded again."""

    results: list[list[Array]] | None = None  # for each seed, all results of one invocation
    # whether results are of one seed: no input depends on it, and an invocation takes a second
    once: bool = False
    # for each of the program's checks on the first seed, why it fails; empty if it passes
    checks: tuple[str, ...] = ()
    overwrites: str = ""  # that invocations change constants of the program; or empty
    unwritten: str = ""  # how they depend on old contents of memory; empty if they do not
    # of correct versions
    spreads: dict[ErrorDepth, list[list[Spread]]] = field(
        default_factory=dict[ErrorDepth, list[list[Spread]]]
    )
    # for single seeds, results and spreads
    alone: dict[tuple[int, ErrorDepth], Alone] = field(default_factory=dict[tuple[int, ErrorDepth], Alone])
    # for each seed, the results of the widened program; empty if none was run
    exact: Sequence[Sequence[Array]] = ()

    @property
    def bytes(self) -> int:
        every = [*(self.results or ()), *self.exact, *(values for values, _ in self.alone.values())]
        return sum(value.nbytes for each in every for value in each)


class LoadedProgram:
    """A loaded program, and the functions of it that are run.

    Args:
        path: the VM module, which is mapped: its constants are not copied if the device can use them.
        device: device URI.
        run: the functions and their inputs.
        known: its results, if it was loaded before.
        runtime: flags of the runtime that the device is opened with.
        like: the same program with f16 and bf16 where this one has f32 (`program.widened`): it takes the
            same inputs.

    Raises:
        TunerError: it does not load; a function is missing or cannot be called; or a file does not fit.
    """

    def __init__(
        self, path: str, device: str, run: ProgramRun, known: KnownResults | None = None,
        runtime: RuntimeFlags = (), like: LoadedProgram | None = None,
    ) -> None:  # fmt: skip
        config, hal = device_for(device, runtime)
        self._uri, self._device = device, config.device
        self._run = run
        self._semaphore = config.device.create_semaphore(0)
        self._begun = 0
        self._path = Path(path)
        self._mapped: mmap.mmap | None = None
        self._count: dict[float, int] = {}
        self.known = known or KnownResults()
        self._ran = False
        try:
            if run.has_barriers:  # they would die of writing to their constants
                with self._path.open("rb") as file:
                    self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
                module = rt.VmModule.wrap_buffer(config.vm_instance, self._mapped)
            else:
                module = rt.VmModule.mmap(config.vm_instance, path)
        except RUNTIME_ERRORS as error:
            raise TunerError(f"the program does not load: {first_line(error)}") from None
        self._widened = like is not None
        self._functions = functions_of(module, run, like._functions if like else ())
        self._checks = Checks(config.device) if run.has_checks else None
        checking = [] if self._checks is None else [self._checks.module()]
        own = None if on_host(device) else config.device
        self._instance = config.vm_instance
        try:
            self._modules, self._context = with_parameters(run, self._instance, own, [hal, *checking, module])
        except RUNTIME_ERRORS as error:
            raise TunerError(f"the program does not load: {first_line(error)}") from None
        self._used = False
        self._set_inputs(SEEDS[0])

    @property
    def name(self) -> str:
        return ", ".join(each.name for each in self._functions)

    def results(self) -> list[list[Array]]:
        """For each seed, all results of one invocation.

        A program that keeps state begins each of them with the state after loading.
        """
        if self.known.results is None:
            first, *others = SEEDS
            start = time.perf_counter()
            found = [self.results_of(first)]
            self.known.checks = () if self._checks is None else tuple(self._checks.found)
            self.known.overwrites = self._overwrites()
            every = [(each.taken, each.given) for each in self._functions]
            all_given = all(len(taken) == len(given) and None not in given for taken, given in every)
            self.known.once = all_given and time.perf_counter() - start > _VERY_LONG_S
            self._fill_differently(found[0])
            found += [found[0] if self.known.once else self.results_of(seed) for seed in others]
            self.known.results = found
            self._set_inputs(first)
        return self.known.results

    def results_of(self, seed: int, nudges: int = 0) -> list[Array]:
        """All results of an invocation for a seed's inputs, which stay set, or for others close to them."""
        self._ran = True
        self._set_inputs(seed, nudges)
        return self._outputs(FILLINGS[0])

    def spreads(self, depth: ErrorDepth, widened: LoadedProgram | None = None) -> list[list[Spread]]:
        """How much correct versions may differ, for each seed and result; computed once.

        `widened` is the program with f32 for narrow floats.
        """
        known = self.known.spreads
        if depth not in known:
            results = self.results()
            measured = [*map(len, depth.moves)] == [*map(len, results)]
            moves = of_any_seed(depth.moves, results) if measured else [None] * len(results)
            places = range(1 if self.known.once else len(results))
            found = [self._spreads_of(place, depth, moves[place], widened) for place in places]
            if widened is not None and loose_results(results[: len(found)], found):
                # One of both may be wrong altogether: the spread is limited by nudges.
                bounds = (by_nudges(depth, results[each], self._nudged_of(SEEDS[each])) for each in places)
                found = [[*map(min, *both)] for both in zip(found, bounds, strict=True)]
            known[depth] = found * (len(results) // len(found))
            self._set_inputs(SEEDS[0])
        return known[depth]

    def _spreads_of(
        self, place: int, depth: ErrorDepth, moves: Sequence[Spread] | None, widened: LoadedProgram | None
    ) -> list[Spread]:
        seed, own = SEEDS[place], self.results()[place]
        if widened is None:
            return [*moves] if moves else by_nudges(depth, own, self._nudged_of(seed))
        self.known.exact = widened.results()
        exact = self.known.exact[place]
        if not stands_for(exact, own):
            return by_nudges(depth, own, self._nudged_of(seed))
        found = by_widened(self._pairs(widened, seed, own, exact))
        if not moves and all(each.dtype.itemsize <= NARROW_BYTES for each in own if is_float(each)):
            return found  # rounding to them is more than what comes before
        noise = moves or by_nudges(depth, exact, widened._nudged_of(seed))
        return [and_allowed(*each) for each in zip(found, noise, own, strict=True)]

    def _pairs(
        self, widened: LoadedProgram, seed: int, own: list[Array], exact: list[Array]
    ) -> list[tuple[list[Array], list[Array]]]:
        """Results of both for a seed; also for inputs close to it, if a result has few values."""
        found, end = [(own, exact)], time.monotonic() + _DRAWING_S
        few = min((value.size for value in own if is_float(value) and value.size), default=FEW)
        while len(found) * few < FEW and len(found) < _MOST_DRAWN and time.monotonic() < end:
            near = len(found)
            found.append((self.results_of(seed, near), widened.results_of(seed, near)))
        return found

    def result_and_spreads(self, seed: int, depth: ErrorDepth, exact: Sequence[Array] | None = None) -> Alone:
        """All results for a seed, and how much correct versions may differ in each; computed once.

        `exact` are the results of the widened program for the seed.
        """
        if (seed, depth) not in self.known.alone:
            values = self.results_of(seed)
            usable = exact is not None and stands_for(exact, values)
            spreads = by_widened([(values, exact)]) if usable and exact is not None else []
            if not usable or loose_results([values], [spreads]):  # or the widened program is wrong
                spreads = by_nudges(depth, values, self._nudged_of(seed))
            self.known.alone[seed, depth] = values, spreads
        return self.known.alone[seed, depth]

    def settle(self) -> None:
        """Prepare for timing: have its results, unless it ran for them, and the state after loading."""
        if not self._ran:
            self.results()
        self._renew()

    def _renew(self) -> None:
        """Restore the state after loading. Mapped files stay mapped."""
        if (self._run.keeps_state or self._mapped is not None) and self._used:
            del self._context  # it may hold weights
            if self._mapped is not None:
                self._mapped.madvise(mmap.MADV_DONTNEED)  # read constants from the file again
            self._context = rt.VmContext(self._instance, modules=[*self._modules])
            self._used = False

    def _overwrites(self) -> str:
        """A note that the invocation changed constants; empty if it did not."""
        if self._mapped is None or memoryview(self._mapped) == memoryview(self._path.read_bytes()):
            return ""
        return "its code writes to constants of the program, so that later calls compute something else"

    def _nudged_of(self, seed: int) -> list[Array]:
        self._set_inputs(seed, 1, widened=self._widened)
        return self._outputs(FILLINGS[0])

    def _fill_differently(self, first: Sequence[Array]) -> None:
        """Find out whether results depend on old contents of memory, unless they vary anyway."""
        fills = any(each.filled or each.memory for each in self._functions)
        if not fills or not equal(self._outputs(FILLINGS[0]), first):
            return
        for byte in FILLINGS[1:]:
            for number, (own, before) in enumerate(zip(self._outputs(byte), first, strict=True)):
                if not equal([own], [before]):
                    where = difference(own, before)
                    self.known.unwritten = f"result {number} depends on uninitialized memory: {where}"
                    return

    def batch(self, count: int, *, in_flight: bool = False) -> float:
        """Seconds of a number of invocations, each function once.

        The host waits for each function with fences or, with `in_flight`, for the last one only: on the
        device each waits for the one before it.
        """
        start = time.perf_counter()
        for _ in range(count):
            for each in self._functions:
                self._begin(each)
                if each.signature.fenced and not in_flight:
                    self._wait()
        if in_flight:
            self._wait()
        return time.perf_counter() - start

    @property
    def in_turn(self) -> bool:
        """Whether calls can be in flight without memory for each: it is given, and they have fences."""
        return all(each.memory and each.signature.fenced for each in self._functions)

    def count_for(self, batch_s: float) -> int:
        """The number of invocations that take `batch_s` seconds; measured once."""
        if batch_s not in self._count:
            elapsed = self.batch(1)
            if elapsed < _LONG_S:  # the first one is slower
                elapsed = min(self.batch(1) for _ in range(3))
            self._count[batch_s] = max(1, round(batch_s / max(elapsed, 1e-6)))
        return self._count[batch_s]

    def _set_inputs(self, seed: int, nudges: int = 0, *, widened: bool = False) -> None:
        """Use the inputs of a seed, or inputs a unit in the last place off; if `widened`, a unit of f32."""
        noise = np.random.default_rng((~seed & 0xFFFF, nudges) if nudges > 1 else ~seed & 0xFFFF)
        for place, each in enumerate(self._functions):
            values = values_of(arguments_of(self._run, each.name, each.taken, each.given), (seed, place))
            if nudges and not widened:
                values = [nudge(each, noise) if isinstance(each, np.ndarray) else each for each in values]
            taken_here = [self._held(each) for each in each.taken]
            if self._widened:
                values = [_widen(value) for value in values]
            if nudges and widened:
                values = [nudge(each, noise) if isinstance(each, np.ndarray) else each for each in values]
            each.arguments = rt.VmVariantList(len(each.taken))
            for taken, value in zip(taken_here, values, strict=True):
                if isinstance(value, np.ndarray):
                    value = self._view(taken, value, keep=not nudges and not self._widened)
                push(each.arguments, value, taken.element_type)
            each.memory = each.memory or self._memory(each.signature)
            for memory in self._views(each):
                each.arguments.push_ref(memory)
            each.values = [each.arguments.get_variant(index) for index in range(each.arguments.size)]

    def _held(self, taken: Taken) -> Taken:
        wider = self._widened and taken.element_type in NARROW_FLOATS
        return replace(taken, element_type="f32") if wider else taken

    def _memory(self, signature: Signature) -> list[rt.HalBuffer]:
        """Memory for results and temporary values, if a function takes that; the same in each call."""
        sizes = [
            stored_size([size or 0 for size in each.shape or ()], each.element_type)
            for each in signature.results
        ]
        if signature.temporary_bytes is not None:
            sizes.append(signature.temporary_bytes)
        return [filled(self._device, max(1, size), 0) for size in sizes]

    def _views(self, each: LoadedFunction) -> list[rt.VmRef]:
        """A function's memory: results are tensors, temporary values a buffer."""
        found: list[object] = list(each.memory)
        for place, taken in enumerate(each.signature.results):
            shape = [size or 0 for size in taken.shape or ()]
            found[place] = rt.HalBufferView(each.memory[place], shape, hal_type(taken.element_type))
        return cast("list[rt.VmRef]", found)  # any ref object will do; the stubs name one

    def _view(self, taken: Taken, value: Array, *, keep: bool) -> rt.VmRef:
        """An array on the device, in memory of its own: a program may write to it (docs/upstream).

        Versions of a program use the same arrays, which are sent to a GPU once.
        """
        if keep and value.size and not on_host(self._uri):
            key, raw = (self._uri, id(value)), stored(value, taken.element_type)
            held = _uploads.get(key, raw.size, _MOST_KEPT, lambda: (value, uploaded(self._device, raw)))
            buffer = copied(self._device, held[1])
        else:
            buffer = uploaded(self._device, stored(value, taken.element_type))
        view = rt.HalBufferView(buffer, list(value.shape), hal_type(taken.element_type))
        return cast(rt.VmRef, view)  # any ref object will do; the stubs name one

    def _begin(self, each: LoadedFunction, byte: int | None = None) -> rt.VmVariantList:
        """Invoke a function; its results are valid when it returns, or with fences after `_wait`.

        With a byte, its twin runs, if there is one, which fills the memory that it allocates.
        """
        results, arguments = rt.VmVariantList(4), each.arguments
        filled = each.filled if byte is not None else None
        fenced = each.signature.fenced if filled is None else each.filled_fenced
        if fenced or filled is not None:
            arguments = rt.VmVariantList(len(each.values) + 3)
            for value in each.values:
                push(arguments, value)
        if fenced:
            for timepoint in (self._begun, self._begun + 1):
                arguments.push_ref(cast(rt.VmRef, rt.HalFence.create_at(self._semaphore, timepoint)))
            self._begun += 1
        if filled is not None and byte is not None:
            arguments.push_int(byte)
        self._used = True
        self._context.invoke(filled or each.signature.function, arguments, results)
        return results

    def _wait(self) -> None:
        """Wait for all functions with fences. The thread spins as long as short calls take."""
        if not on_host(self._uri):
            end = time.perf_counter() + _AWAKE_S
            while self._semaphore.query() < self._begun and time.perf_counter() < end:
                pass
        rt.HalFence.create_at(self._semaphore, self._begun).wait()

    def _outputs(self, byte: int) -> list[Array]:
        """All results of one invocation, in memory that is filled with a byte if there is a twin.

        Values that the program checks are also results: they come last.
        """
        self._renew()
        if self._checks is None:
            return [value for each in self._functions for value in self._outputs_of(each, byte)]
        found: list[Array] = []
        self._checks.begin()
        for each in self._functions:
            self._checks.function = each.name
            found += self._outputs_of(each, byte)
        return [*found, *self._checks.end()]

    def _outputs_of(self, each: LoadedFunction, byte: int) -> list[Array]:
        for buffer in each.memory:
            fill_again(self._device, buffer, byte)
        results = self._begin(each, byte)
        if each.filled_fenced if each.filled is not None else each.signature.fenced:
            self._wait()
        found: list[Array] = []
        for index in range(results.size):
            value = results.get_variant(index)
            if isinstance(value, rt.VmRef):
                if not value.isinstance(rt.HalBufferView):
                    raise TunerError(f"result {index} of @{each.name} is no tensor and no number")
                found.append(read_back(self._device, value))  # a program may give the same memory again
            else:
                found.append(np.asarray(value, _scalar(each.signature, index)))
        for taken, value in zip(each.taken, each.values, strict=False):
            if taken.written:
                found.append(read_back(self._device, cast(rt.VmRef, value)))
        return found


def _widen(value: Array | float | int) -> Array | float | int:
    if isinstance(value, np.ndarray) and is_float(value) and value.dtype.itemsize == NARROW_BYTES:
        return value.astype(np.float32)
    return value


def _scalar(signature: Signature, index: int) -> np.dtype[np.generic] | None:
    """The type of a result that is a number; None for NumPy's widest one."""
    given = signature.gives[index] if index < len(signature.gives) else None
    return None if given is None else ElementType.named(given.element_type).dtype
