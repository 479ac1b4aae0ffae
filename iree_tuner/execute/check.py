"""Whether an executable computes what the compiler's own choice does. Runs in the measuring worker.

What a run must do: write every output, within tolerance of the default's (`execute.numerics`); write nothing
else; do so again on the second run, and on every one after it. Where candidate and default differ, an
interpreter of the dispatch says who is right, for small sizes, or else, for a GPU, the code for this
machine's processor (`execute.reference`). See docs/numerics.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from iree_tuner.execute.bench import Bench, Tolerance
from iree_tuner.execute.data import (
    fill,
    kind_of,
    magnitudes_of,
    values_in,
    written,
)
from iree_tuner.execute.device_check import DeviceCheck
from iree_tuner.execute.memory import Memory, StagedMemory
from iree_tuner.execute.numerics import Agreement, compare, numbers, same_bytes
from iree_tuner.execute.outcome import DEFAULT_WRONG
from iree_tuner.execute.runner import LoadedDispatch
from iree_tuner.execute.untouched import Kept, changed, kept
from iree_tuner.program.bindings import TensorSlice
from iree_tuner.targets import on_host

if TYPE_CHECKING:
    from iree_tuner.execute.reference import OnHost, Unsupported

QUICK_SEED = 1
"""Values of both signs: what is added twice, lost or swapped shows most clearly in them."""

THOROUGH_SEEDS = (0, 1, 2)
"""One of each kind (`execute.data.kind_of`)."""

_REPETITIONS, _LEAST = 4, 2  # runs on one seed, and of slow dispatches
_SURELY = 0.99  # of a tolerance, by single precision on the device: what is above, the host looks at
_MANY_RUNS = 64
_MANY_RUNS_S = 0.2
_VARYING_RUNS, _VARYING_S = 20, 0.5

Buffer = npt.NDArray[np.uint8]
Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class _Expected:
    """What the default makes of one seed.

    Attributes:
        values: each output.
        magnitudes: what it makes of the inputs' absolute values; see `execute.numerics`.
        kept: what a candidate must leave alone, since the default does.
        tolerance: of results.
    """

    values: list[Array]
    magnitudes: list[Array]
    kept: list[Kept]
    tolerance: Tolerance


class Check:
    """Compares executables with the default of one bench, whose outputs are kept for each seed.

    Args:
        bench: the dispatch, the default and the tolerance.
        memory: what the default runs on; one of its own where none is given.
    """

    def __init__(self, bench: Bench, memory: Memory | None = None) -> None:
        self._bench = bench
        self._memory = memory
        self._harness = bench.harness
        self._written = written(bench.harness.bindings)
        self._in_place = any(tensor.access == "read_write" for _, tensor, _ in self._written)
        self._expected: dict[int, _Expected] = {}
        self._references: dict[int, list[Array] | Unsupported] = {}
        self._default: LoadedDispatch | None = None
        self._size = max(bench.harness.buffer_bytes, 1)
        self._on_device: list[DeviceCheck] = []
        self._wrong_default = ""
        self._judged: tuple[int, Agreement] | None = None  # the last one, and its seed
        self._last = np.empty(0, np.uint8)  # what it was of
        self._on_host: OnHost | None = None

    def quick(self, loaded: LoadedDispatch) -> Agreement:
        """One seed, two runs: for every candidate of a search. Leaves that seed's values in the buffer."""
        return self._seed(loaded, QUICK_SEED, _LEAST)

    def default(self) -> str:
        """Why the default itself is wrong; empty where nothing says so.

        Looked at where its results are not all numbers, as of code that reads what lies behind its inputs.
        """
        expected = self._expect(QUICK_SEED)
        if all(numbers(each) for each in expected.values):
            return ""
        reference = self._arbiter(QUICK_SEED)
        if not isinstance(reference, list):
            return ""
        found = self._compare_values(expected.values, reference, expected)
        return "" if found.ok else f"{DEFAULT_WRONG}: seed {QUICK_SEED}: {found.message}"

    def _where_it_is(self, loaded: LoadedDispatch, repetitions: int) -> Agreement:
        """The quick seed on the device, without a word on what is wrong: the largest error of all runs."""
        if not self._on_device:
            self._look_for(self._expect(QUICK_SEED).values)
        worst = [0.0] * len(self._on_device)
        end = time.monotonic() + _VARYING_S
        for repetition in range(repetitions):
            if repetition >= _LEAST and time.monotonic() > end:
                break
            if repetition == 0 or self._in_place:
                loaded.fill(QUICK_SEED)
            loaded.run(1)
            for number, each in enumerate(self._on_device):
                worst[number] = max(worst[number], each.worst(loaded.memory))
        own, *others = worst
        if own > _SURELY and min(others, default=math.inf) <= _SURELY:
            return Agreement(True, min(others), note=self._wrong_default, corrects=True)
        return Agreement(own <= _SURELY, own)

    def _look_for(self, values: list[Array]) -> None:
        """Have the device recognise these values of the quick seed, too."""
        expected, image = self._expect(QUICK_SEED), self._image(QUICK_SEED, self._harness.stride)
        found = DeviceCheck(self._bench, image, values, expected.magnitudes, expected.kept)
        self._on_device.append(found)

    def thorough(self, loaded: LoadedDispatch, seeds: Sequence[int] = THOROUGH_SEEDS) -> Agreement:
        """Each seed several times, then many runs in a row; and, for small sizes, against the reference.

        `Agreement.note` says why there was no reference, or that the default itself is wrong.
        """
        worst, notes, corrects = 0.0, dict[str, str](), False
        for seed in seeds:
            found = self._seed(loaded, seed, _REPETITIONS)
            if found.ok and not found.note:
                found = replace(self._against_reference(loaded, seed), worst=found.worst)
            if not found.ok:
                return found
            worst, corrects = max(worst, found.worst), corrects or found.corrects
            if found.note:  # of one kind the first is enough
                notes.setdefault(found.note.partition(": seed ")[0], found.note)
        found = self._after_many(loaded, seeds[-1])
        if not found.ok:
            return found
        found = self._again_and_again(loaded, seeds[-1])
        if not found.ok:
            return found
        if found.note:
            notes[found.note] = found.note
        return Agreement(True, max(worst, found.worst), note="; ".join(notes.values()), corrects=corrects)

    def _seed(self, loaded: LoadedDispatch, seed: int, repetitions: int) -> Agreement:
        """Runs on one seed. The later ones find the outputs of the one before, unless they add to them."""
        if seed == QUICK_SEED and self._bench.check:
            found = self._where_it_is(loaded, repetitions)
            if found.ok:
                return found
        expected = self._expect(seed)
        worst, note, corrects = 0.0, "", False
        end = time.monotonic() + _VARYING_S
        for repetition in range(repetitions):
            if repetition >= _LEAST and time.monotonic() > end:
                break
            if repetition == 0 or self._in_place:
                loaded.fill(seed)
            loaded.run(1)
            found = self._judge(loaded, seed, expected)
            if not found.ok:
                return _on_run(found, seed, repetition)
            worst, note = max(worst, found.worst), note or found.note
            corrects = corrects or found.corrects
        return Agreement(True, worst, note=note, corrects=corrects)

    def _after_many(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        """Many runs without a pause in between, which brings out races that single runs do not."""
        if self._in_place:
            return Agreement(True, 0.0)
        seconds = max(loaded.run(1), 1e-7)
        count = max(2, min(_MANY_RUNS, int(_MANY_RUNS_S / seconds)))
        loaded.run(count)
        found = self._judge(loaded, seed, self._expect(seed))
        return (
            found
            if found.ok
            else replace(found, message=f"seed {seed}, after {count} runs in a row: {found.message}")
        )

    def _again_and_again(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        """Many runs on the same inputs: whether each is right, and all are equal to the bit."""
        kinds, runs = self._kinds(loaded, seed)
        worst = 0.0
        if len(kinds) == 1:
            return Agreement(True, 0.0)
        for got in kinds:
            found = self._judge_anew(got, seed, self._expect(seed))
            if not found.ok:
                return replace(found, message=f"seed {seed}, in some of {runs} runs: {found.message}")
            worst = max(worst, found.worst)
        assert self._default is not None, "`_expect` has loaded it"
        own = len(self._kinds(self._default, seed)[0])
        told = f"so are the default's ({own})" if own > 1 else "the default's are not"
        note = f"results vary from run to run: {len(kinds)} in {runs} runs; {told}"
        return Agreement(True, worst, note=note)

    def _kinds(self, loaded: LoadedDispatch, seed: int) -> tuple[list[Buffer], int]:
        """Different results of a number of runs."""
        kinds: list[Buffer] = []
        end, runs = time.monotonic() + _VARYING_S, 0
        while runs < _VARYING_RUNS and (runs < _LEAST or time.monotonic() < end):
            if self._in_place or not runs:
                loaded.fill(seed)
            loaded.run(1)
            if not kinds or not self._is_kept(loaded):
                got = loaded.read()
                if not any(same_bytes(got, each) for each in kinds):
                    kinds.append(got.copy())
                self._keep(loaded, got)
            runs += 1
        return kinds, runs

    def _judge(self, loaded: LoadedDispatch, seed: int, expected: _Expected) -> Agreement:
        """One result; where it is the one that was judged last, to the bit, what was said of that."""
        if self._judged is None or self._judged[0] != seed or not self._is_kept(loaded):
            got = loaded.read()
            found = self._judge_anew(got, seed, expected)
            self._keep(loaded, got)
            self._judged = seed, found
        return self._judged[1]

    def _keep(self, loaded: LoadedDispatch, got: Buffer) -> None:
        """Keep a result to hold the next one against, where that is looked at."""
        self._judged = None
        if self._on_device and isinstance(loaded.memory, StagedMemory):
            loaded.memory.keep()
            return
        if len(self._last) != len(got):  # large ones are slow to allocate
            self._last = np.empty_like(got)
        self._last[:] = got

    def _is_kept(self, loaded: LoadedDispatch) -> bool:
        if self._on_device and isinstance(loaded.memory, StagedMemory):
            return self._on_device[0].same(loaded.memory)
        return same_bytes(loaded.read(), self._last)

    def _judge_anew(self, got: Buffer, seed: int, expected: _Expected) -> Agreement:
        """A result against what must not change and against the default; else the reference decides."""
        spoilt = changed(got, self._image(seed, len(got)), expected.kept, self._harness.bindings)
        if spoilt:
            return Agreement(False, math.inf, spoilt)
        found = self._compare(got, expected.values, expected)
        if found.ok:
            return found
        reference = self._arbiter(seed)
        if not isinstance(reference, list):
            return found
        default = self._compare_values(expected.values, reference, expected)
        ours = self._compare(got, reference, expected)
        if ours.ok and not default.ok:
            note = f"{DEFAULT_WRONG}: seed {seed}: {default.message}"
            if seed == QUICK_SEED and len(self._on_device) == 1:
                self._look_for(reference)
                self._wrong_default = note
            return replace(ours, note=note, corrects=True)
        blame = "the reference has the default's values" if default.ok else f"{DEFAULT_WRONG}, too"
        return replace(found, message=f"{found.message}; {blame}")

    def _against_reference(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        """A result that agrees with the default's: is it also right?"""
        reference = self._reference(seed)
        if not isinstance(reference, list):
            return Agreement(True, 0.0, note=f"not checked against a reference: {reference.reason}")
        expected = self._expect(seed)
        if expected.values is reference:
            return Agreement(True, 0.0)
        found = self._compare(loaded.read(), reference, expected)
        if found.ok:
            return found
        default = self._compare_values(expected.values, reference, expected)
        if default.ok:
            return replace(found, message=f"seed {seed}: {found.message}, says the reference")
        note = f"candidate and default agree, but {DEFAULT_WRONG}: seed {seed}: {default.message}"
        return Agreement(True, found.worst, note=note)

    def _expect(self, seed: int) -> _Expected:
        if seed not in self._expected:
            if self._default is None:
                self._default = LoadedDispatch(
                    self._bench.default, self._harness, self._bench.device, self._memory
                )
            magnitudes: list[Array] = []
            if kind_of(seed) != "positive":
                magnitudes = self._values(self._run_default(self._default, magnitudes_of(seed)))
            got = self._run_default(self._default, seed)
            self._size = len(got)
            image = self._image(seed, len(got))
            # Padding of an encoded tensor, for example, is written too.
            left_alone = [
                each
                for each in kept(self._harness.bindings, len(got))
                if same_bytes(got[each.start : each.end], image[each.start : each.end])
            ]
            values = self._values(got)
            magnitudes = magnitudes or values  # of positive inputs
            if self._bench.by_reference and isinstance(reference := self._reference(seed), list):
                values = reference
            tolerance = self._bench.tolerance.on(kind_of(seed))
            self._expected[seed] = _Expected(values, magnitudes, left_alone, tolerance)
        return self._expected[seed]

    def _run_default(self, default: LoadedDispatch, seed: int) -> Buffer:
        default.fill(seed)
        default.run(1)
        return default.read()

    def _reference(self, seed: int) -> list[Array] | Unsupported:
        if seed not in self._references:
            from iree_tuner.execute.reference import (  # it loads the compiler
                Unsupported,
                read_ahead,
                reference_outputs,
            )

            # What it does not interpret depends on no values.
            found = next((each for each in self._references.values() if isinstance(each, Unsupported)), None)
            found = found or read_ahead(self._harness, self._bench.references, seed)
            if found is None:
                found = reference_outputs(self._harness, self._image(seed, self._size))
            self._references[seed] = found
        return self._references[seed]

    def _arbiter(self, seed: int) -> list[Array] | Unsupported:
        """The reference, or what the processor makes of it where there is none and the device is another."""
        found = self._reference(seed)
        if isinstance(found, list) or on_host(self._bench.device):
            return found
        if self._on_host is None:
            from iree_tuner.execute.reference import OnHost  # it loads the compiler

            self._on_host = OnHost(self._bench)
        self._references[seed] = found = self._on_host.outputs(seed)
        return found

    def _image(self, seed: int, size: int) -> Buffer:
        return fill(self._harness.bindings, size, seed)

    def _values(self, buffer: Buffer) -> list[Array]:
        return [values_in(buffer, binding, tensor).copy() for binding, tensor, _ in self._written]

    def _compare(self, got: Buffer, right: Sequence[Array], expected: _Expected) -> Agreement:
        values = [values_in(got, binding, tensor) for binding, tensor, _ in self._written]
        return self._compare_values(values, right, expected)

    def _compare_values(self, got: Sequence[Array], right: Sequence[Array], expected: _Expected) -> Agreement:
        """Values against what is right, within what is expected of the seed that both are of."""
        worst, tolerance = 0.0, expected.tolerance
        for (_, tensor, number), ours, theirs, scale in zip(
            self._written, got, right, expected.magnitudes, strict=True
        ):
            found = compare(
                ours,
                theirs,
                tensor.element_type,
                tolerance.accumulator_type,
                tolerance.reduction_length,
                magnitudes=scale,
                factors=(tolerance.factor_type, tolerance.factors),
            )
            if not found.ok:
                return replace(found, message=f"tensor {number} ({_type(tensor)}) {found.message}")
            worst = max(worst, found.worst)
        return Agreement(True, worst)


def _on_run(found: Agreement, seed: int, repetition: int) -> Agreement:
    """With the seed; and that it was right at first, if so: it depends on what was there, or on timing."""
    again = f", right at first, on run {repetition + 1}" if repetition else ""
    return replace(found, message=f"seed {seed}{again}: {found.message}")


def _type(tensor: TensorSlice) -> str:
    return "x".join([*map(str, tensor.shape), tensor.element_type])
