"""Whether an executable computes what the compiler's own choice does. Runs in the measuring worker.

The checks of a run: it must write every output, within tolerance of the default's (`device.numerics`); write
nothing else; do so again on the second run, and on every one after it. Where candidate and default differ, an
interpreter of the dispatch decides for small sizes. For larger ones on a GPU, the code for this machine's
processor decides (`check.reference`). See docs/numerics.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from iree_tuner.check.expected import Expectations, Expected, Kept, changed, changing, kept, unchanged
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import LARGE, values_in
from iree_tuner.device.memory import LoadedDispatch, Memory, StagedMemory
from iree_tuner.device.numerics import Agreement, compare, same_bytes
from iree_tuner.device.outcome import DEFAULT_WRONG, MAY_BE_INVALID

QUICK_SEED = 1
"""Values of both signs: values that are added twice, lost or swapped differ most in them."""

THOROUGH_SEEDS = (0, 1, 2)
"""One of each kind (`device.data.kind_of`)."""

_REPETITIONS, _LEAST = 4, 2  # runs on one seed, and of slow dispatches
_SURELY = 0.99  # of a tolerance, by single precision on the device: what is above, the host looks at
_MANY_RUNS = 64
_MANY_RUNS_S = 0.2
_VARYING_RUNS, _VARYING_S = 20, 0.5

Buffer = npt.NDArray[np.uint8]
Array = npt.NDArray[np.generic]


class Check:
    """Compares executables with the default of one bench, whose outputs are kept for each seed.

    Without `memory`, the default runs in memory of its own.
    """

    def __init__(self, bench: Bench, memory: Memory | None = None) -> None:
        self._harness = bench.harness
        self._right = Expectations(bench, memory)
        self._written = self._right.written
        every = kept(self._harness.bindings, self._harness.stride)
        self._large = [each for each in every if each.tensor is not None and each.end - each.start > LARGE]
        self._in_place = any(tensor.access == "read_write" for _, tensor, _ in self._written)
        self._wrong_default: dict[int, str] = {}  # what the device's other values stand for, by seed
        self._judged: tuple[int, Agreement] | None = None  # the last one, and its seed
        # what it was of: inputs that were as before the run, if they are large, and all the rest
        self._last: tuple[list[Kept], list[Buffer]] = [], []

    def quick(self, loaded: LoadedDispatch) -> Agreement:
        """One seed, two runs: for every candidate of a search. Leaves that seed's values in the buffer."""
        return self._seed(loaded, QUICK_SEED, _LEAST)

    def default(self) -> str:
        """Why the default itself is wrong; empty if that is not known.

        Checked only if some of its results are not numbers, as of code that reads behind its inputs. If
        inputs may be invalid, that proves nothing.
        """
        if self._harness.unclear or self._right.are_numbers(QUICK_SEED):
            return ""
        expected, right = self._right.of(QUICK_SEED), self._right.arbitrated(QUICK_SEED)
        if right is None:
            return ""
        found = self._compare_values(expected.values, right.values, right)
        return "" if found.ok else f"{DEFAULT_WRONG}: seed {QUICK_SEED}: {found.message}"

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
        for repeated in (self._after_many, self._again_and_again):
            found = repeated(loaded, seeds[-1])
            if not found.ok:
                return found
            if found.note:
                notes[found.note] = found.note
        return Agreement(True, max(worst, found.worst), note="; ".join(notes.values()), corrects=corrects)

    def _seed(self, loaded: LoadedDispatch, seed: int, repetitions: int) -> Agreement:
        """Runs on one seed. Later runs find the outputs of the previous one, unless they add to them."""
        if not self._right.on_device(seed):
            self._right.of(seed)  # the default may run in the same memory: before
        worst, note, corrects = 0.0, "", False
        end = time.monotonic() + _VARYING_S
        for repetition in range(repetitions):
            if repetition >= _LEAST and time.monotonic() > end:
                break
            if repetition == 0 or self._in_place:
                loaded.fill(seed)
            loaded.run(1)
            found = self._judge(loaded, seed)
            if not found.ok:  # if it was right at first, it depends on old memory, or on timing
                again = f", right at first, on run {repetition + 1}" if repetition else ""
                return replace(found, message=f"seed {seed}{again}: {found.message}")
            worst, note = max(worst, found.worst), note or found.note
            corrects = corrects or found.corrects
        return Agreement(True, worst, note=note, corrects=corrects)

    def _after_many(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        """Many runs without a pause: races show that do not in single runs."""
        if self._in_place:
            return Agreement(True, 0.0)
        seconds = max(loaded.run(1), 1e-7)
        count = max(2, min(_MANY_RUNS, int(_MANY_RUNS_S / seconds)))
        loaded.run(count)
        found = self._judge(loaded, seed)
        message = f"seed {seed}, after {count} runs in a row: {found.message}"
        return found if found.ok else replace(found, message=message)

    def _again_and_again(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        """Many runs on the same inputs: each must be right; a note says whether they differ."""
        kinds, runs = self._kinds(loaded, seed)
        worst = 0.0
        for got in kinds:
            found = self._judge_on_host(got, seed)
            if not found.ok:
                return replace(found, message=f"seed {seed}, in some of {runs} runs: {found.message}")
            worst = max(worst, found.worst)
        if not kinds:
            return Agreement(True, 0.0)
        own = len(self._kinds(self._right.default, seed)[0])
        default = f"so do the default's ({own})" if own else "the default's do not"
        note = f"results vary from run to run: {len(kinds)} in {runs} runs; {default}"
        return Agreement(True, worst, note=note)

    def _kinds(self, loaded: LoadedDispatch, seed: int) -> tuple[list[Buffer], int]:
        """The different results of a number of runs (empty if all are equal), and that number."""
        kinds: list[Buffer] = []
        end, runs = time.monotonic() + _VARYING_S, 0
        while runs < _VARYING_RUNS and (runs < _LEAST or time.monotonic() < end):
            if self._in_place or not runs:
                loaded.fill(seed)
            loaded.run(1)
            runs += 1
            if runs == 1:
                self._keep(loaded, seed)
            elif not self._is_kept(loaded, seed):
                kinds = kinds or [self._kept(loaded, seed)]
                got = loaded.read()
                if not any(same_bytes(got, each) for each in kinds):
                    kinds.append(got.copy())
                self._keep(loaded, seed)
        return kinds, runs

    def _judge(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        if self._judged is None or self._judged[0] != seed or not self._is_kept(loaded, seed):
            found = self._judge_there(loaded, seed) or self._judge_on_host(loaded.read(), seed)
            self._keep(loaded, seed)
            self._judged = seed, found
        return self._judged[1]

    def _judge_there(self, loaded: LoadedDispatch, seed: int) -> Agreement | None:
        """The device's comparison of a result; None unless it is sure that the result is right."""
        checks = self._right.on_device(seed)
        if not checks:
            return None
        own, *others = [each.worst(loaded.memory) for each in checks]
        if own <= _SURELY:
            return Agreement(True, own)
        if min(others, default=math.inf) <= _SURELY:
            return Agreement(True, min(others), note=self._wrong_default[seed], corrects=True)
        self._right.of(seed)  # before the result is read: the default runs in the same memory
        return None

    def _keep(self, loaded: LoadedDispatch, seed: int) -> None:
        self._judged = None
        if self._right.on_device(seed) and isinstance(loaded.memory, StagedMemory):
            loaded.memory.keep()
            return
        got, image = loaded.read(), self._right.image(seed, self._harness.stride)
        inputs = [each for each in self._large if unchanged(got, image, each)]
        rest = [got[each] for each in changing(inputs, len(got))]
        if self._last[0] != inputs or not self._last[1]:  # large ones are slow to allocate
            self._last = inputs, [np.empty_like(each) for each in rest]
        for last, now in zip(self._last[1], rest, strict=True):
            last[:] = now

    def _is_kept(self, loaded: LoadedDispatch, seed: int) -> bool:
        if (checks := self._right.on_device(seed)) and isinstance(loaded.memory, StagedMemory):
            return checks[0].same(loaded.memory)
        (inputs, last), got = self._last, loaded.read()
        image = self._right.image(seed, self._harness.stride)
        rest = [got[each] for each in changing(inputs, len(got))]
        same = bool(last) and all(map(same_bytes, rest, last))
        return same and all(unchanged(got, image, each) for each in inputs)

    def _kept(self, loaded: LoadedDispatch, seed: int) -> Buffer:
        memory = loaded.memory
        if self._right.on_device(seed) and isinstance(memory, StagedMemory) and memory.kept is not None:
            return memory.read_of(memory.kept).copy()
        inputs, rest = self._last
        size = sum(each.size for each in rest) + sum(each.end - each.start for each in inputs)
        found = self._right.image(seed, size).read(0, size).copy() if inputs else np.empty(size, np.uint8)
        for place, last in zip(changing(inputs, size), rest, strict=True):
            found[place] = last
        return found

    def _judge_on_host(self, got: Buffer, seed: int) -> Agreement:
        """Compare a result with what must not change and with the default, then with the reference."""
        expected = self._right.of(seed)
        image = self._right.image(seed, len(got))
        if spoilt := changed(got, image, expected.kept, self._harness.bindings):
            return Agreement(False, math.inf, spoilt)
        found = self._compare(got, expected.values, expected)
        if found.ok:
            return found
        if self._harness.unclear:
            return replace(found, message=f"{found.message}; {MAY_BE_INVALID}")
        right = self._right.arbitrated(seed)
        if right is None or right.values is expected.values:
            return found
        default = self._compare_values(expected.values, right.values, right)
        ours = self._compare(got, right.values, right)
        if ours.ok and not default.ok:
            note = f"{DEFAULT_WRONG}: seed {seed}: {default.message}"
            if seed not in self._wrong_default:
                self._wrong_default[seed] = note
                self._right.is_right_too(seed, right)
            return replace(ours, note=note, corrects=True)
        blame = "the reference has the default's values" if default.ok else f"{DEFAULT_WRONG}, too"
        return replace(found, message=f"{found.message}; {blame}")

    def _against_reference(self, loaded: LoadedDispatch, seed: int) -> Agreement:
        """Whether a result that agrees with the default's is also right."""
        if self._harness.unclear:
            return Agreement(True, 0.0, note=f"not checked against a reference: {MAY_BE_INVALID}")
        reference = self._right.reference(seed)
        if not isinstance(reference, list):
            return Agreement(True, 0.0, note=f"not checked against a reference: {reference.reason}")
        expected = self._right.of(seed)
        if expected.values is reference:
            return Agreement(True, 0.0)
        found = self._compare(loaded.read(), reference, expected)
        if found.ok:
            return found
        default = self._compare_values(expected.values, reference, expected)
        if default.ok:
            return replace(found, message=f"seed {seed}: {found.message}, compared with the reference")
        note = f"candidate and default agree, but {DEFAULT_WRONG}: seed {seed}: {default.message}"
        return Agreement(True, found.worst, note=note)

    def _compare(self, got: Buffer, right: Sequence[Array], expected: Expected) -> Agreement:
        values = [values_in(got, binding, tensor) for binding, tensor, _ in self._written]
        return self._compare_values(values, right, expected)

    def _compare_values(self, got: Sequence[Array], right: Sequence[Array], expected: Expected) -> Agreement:
        """Values compared with correct ones, within the tolerance of their seed."""
        worst = 0.0
        for (_, tensor, number), ours, theirs, scale, sums in zip(
            self._written, got, right, expected.magnitudes, expected.sums, strict=True
        ):
            found = compare(ours, theirs, tensor.element_type, expected.tolerance, scale, sums=sums)
            if not found.ok:
                kind = "x".join([*map(str, tensor.shape), tensor.element_type])
                return replace(found, message=f"tensor {number} ({kind}) {found.message}")
            worst = max(worst, found.worst)
        return Agreement(True, worst)
