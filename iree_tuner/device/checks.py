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
            ("expect_true", "i", partial(_boolean, wanted=True)),
            ("expect_false", "i", partial(_boolean, wanted=False)),
            ("expect_all_true", "rr", _all_true),
            ("expect_eq", "rrr", _equal),
            ("expect_almost_eq", "rrrff", _almost_equal),
        )
        functions = ((name, f"0{kinds}_v", partial(Checks.check, how=how)) for name, kinds, how in every)
        return runtime_module("check", self, functions)

    def check(self, *operands: object, how: Callable[..., str]) -> None:
        """Evaluate a check. It must not raise: the runtime would print a message of many lines.

        `how` says why it fails. The first operand is the device, if there are tensors.
        """
        if self._values is None:
            return
        tensors = [each for each in operands if isinstance(each, rt.VmRef)][1:]
        try:
            values = [read_back(self._device, each) for each in tensors]
            given = [*values, *(each for each in operands if not isinstance(each, rt.VmRef))]
            self._values.append(values[0] if values else np.asarray(given[0], np.int32))
            reason = how(*given)
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


def is_check(name: str) -> bool:
    """Whether an op of this name is a check."""
    return name.startswith(_DIALECT)


def _boolean(value: int, *, wanted: bool) -> str:
    return "" if bool(value) is wanted else f"expected {str(wanted).lower()}, got {value}"


def _all_true(value: Array) -> str:
    return _first_off(value, np.ones_like(value), value.astype(bool))


def _equal(value: Array, wanted: Array) -> str:
    if misfit := _misfit(value, wanted):
        return misfit
    own, other = (each.reshape(-1, 1).view(np.uint8) for each in map(np.ascontiguousarray, (value, wanted)))
    return _first_off(value, wanted, (own == other).all(-1).reshape(value.shape))


def _almost_equal(value: Array, wanted: Array, atol: float, rtol: float) -> str:
    """Like the runtime's `iree_math_fuzzy_compare_f64`."""
    if misfit := _misfit(value, wanted):
        return misfit
    own, other = value.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.isfinite(other) & (np.abs(own - other) <= atol + rtol * np.abs(other))
    return _first_off(value, wanted, (own == other) | (np.isnan(own) & np.isnan(other)) | close)


def _misfit(value: Array, wanted: Array) -> str:
    if (value.shape, value.dtype) == (wanted.shape, wanted.dtype):
        return ""
    kinds = ("x".join((*map(str, each.shape), each.dtype.name)) for each in (wanted, value))
    return "expected {}, got {}".format(*kinds)


def _first_off(value: Array, wanted: Array, right: npt.NDArray[np.bool_]) -> str:
    if right.all():
        return ""
    place = tuple(int(each) for each in np.unravel_index(np.argmin(right), value.shape))
    where = f" at {list(place)}" if place else ""
    return f"expected {wanted[place]}, got {value[place]}{where}"
