"""The runtime's module that `check.expect_*` ops call, as IREE's own tests do.

`iree-check-module` has it in C++. Without it the compiled program skips these ops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.memory import read_back, runtime_module
from iree_tuner.errors import TunerError
from iree_tuner.targets.runtime import RUNTIME_ERRORS

Array = npt.NDArray[np.generic]
Found = tuple[Array, str]
"""A checked value, and why the check fails; empty if it passes."""

_DIALECT = "check."


class Checks:
    """Evaluates checks and keeps the checked values, between `begin` and `end`; else checks are skipped."""

    def __init__(self, device: rt.HalDevice) -> None:
        self._device = device
        self._values: list[Array] | None = None
        # for each check since `begin`, its function and why it fails; empty if it passes
        self.found: list[str] = []
        self.function = ""  # whose checks come next

    def module(self) -> rt.VmModule:
        """The module, which a context needs before the program."""
        every = (
            ("expect_true", "i", Checks._true),
            ("expect_false", "i", Checks._false),
            ("expect_all_true", "rr", Checks._all_true),
            ("expect_eq", "rrr", Checks._equal),
            ("expect_almost_eq", "rrrff", Checks._almost_equal),
        )
        functions = ((name, f"0{kinds}_v", partial(Checks.check, how=how)) for name, kinds, how in every)
        return runtime_module("check", self, functions)

    def check(self, *operands: object, how: Callable[..., Found]) -> None:
        """Evaluate a check. It must not raise: the runtime would print a message of many lines."""
        if self._values is None:
            return
        try:
            value, reason = how(self, *operands)
            self._values.append(value)
        except (TunerError, *RUNTIME_ERRORS) as error:
            reason = f"the values cannot be read: {error}"
        self.found.append(f"@{self.function}: {reason}" if reason else "")

    def begin(self) -> None:
        """Evaluate checks from now on."""
        self._values, self.found = [], []

    def end(self) -> list[Array]:
        """Skip checks again. Returns the values that were checked, in order, as results of the program."""
        values, self._values = self._values or [], None
        return values

    def _true(self, value: int) -> Found:
        return np.asarray(value, np.int32), "" if value else "expected true, got 0"

    def _false(self, value: int) -> Found:
        return np.asarray(value, np.int32), f"expected false, got {value}" if value else ""

    def _all_true(self, _: rt.VmRef, operand: rt.VmRef) -> Found:
        value = self._read(operand)
        return value, _first_off(value, np.ones_like(value), value.astype(bool))

    def _equal(self, _: rt.VmRef, left: rt.VmRef, right: rt.VmRef) -> Found:
        value, wanted = self._read(left), self._read(right)
        return value, _misfit(value, wanted) or _first_off(value, wanted, _same_bytes(value, wanted))

    def _almost_equal(self, _: rt.VmRef, left: rt.VmRef, right: rt.VmRef, atol: float, rtol: float) -> Found:
        value, wanted = self._read(left), self._read(right)
        return value, _misfit(value, wanted) or _first_off(value, wanted, _near(value, wanted, atol, rtol))

    def _read(self, operand: rt.VmRef) -> Array:
        return read_back(self._device, operand)


def is_check(name: str) -> bool:
    """Whether an op of this name is a check."""
    return name.startswith(_DIALECT)


def _misfit(value: Array, wanted: Array) -> str:
    if (value.shape, value.dtype) == (wanted.shape, wanted.dtype):
        return ""
    return f"expected {_kind(wanted)}, got {_kind(value)}"


def _kind(value: Array) -> str:
    return "x".join((*map(str, value.shape), value.dtype.name))


def _same_bytes(value: Array, wanted: Array) -> npt.NDArray[np.bool_]:
    own, other = (each.reshape(-1, 1).view(np.uint8) for each in map(np.ascontiguousarray, (value, wanted)))
    return (own == other).all(-1).reshape(value.shape)


def _near(value: Array, wanted: Array, atol: float, rtol: float) -> npt.NDArray[np.bool_]:
    """Like the runtime's `iree_math_fuzzy_compare_f64`."""
    own, other = value.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.isfinite(other) & (np.abs(own - other) <= atol + rtol * np.abs(other))
    return (own == other) | (np.isnan(own) & np.isnan(other)) | close


def _first_off(value: Array, wanted: Array, right: npt.NDArray[np.bool_]) -> str:
    if right.all():
        return ""
    place = tuple(int(each) for each in np.unravel_index(np.argmin(right), value.shape))
    where = f" at {list(place)}" if place else ""
    return f"expected {wanted[place]}, got {value[place]}{where}"
