"""Element types of operations: which there are, what sums of them are held in, and how names have them."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.errors import UsageError
from iree_tuner.suite.hints import did_you_mean
from iree_tuner.targets import Target, kind_named

WIDE = ("f32", "f16", "bf16")
"""Floats that are computed with. The compiler makes f32 of f64, so that it is not here."""

NARROW = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
"""Floats that are only multiplied."""

FLOATS = WIDE + NARROW
INTEGERS = ("i8", "i32")
OWN_F8 = "f8"
"""Stands for the target's own type in sweeps; `sweep` resolves it."""


def sums_of(*element_types: str) -> str:
    """The type that sums, and functions of them, are held in: f32, and i32 of integers alone."""
    return "i32" if all(each in INTEGERS for each in element_types) else "f32"


def result_of(element_type: str) -> str:
    """The usual result type of products of a type: the type itself; for 8 bits the type of the sums."""
    return element_type if element_type in WIDE else sums_of(element_type)


def widest(*element_types: str) -> str:
    """Of the types of two factors the one that both are multiplied in."""
    return min(element_types, key=[*WIDE, *NARROW, *INTEGERS].index)


def own_f8(target: Target) -> str:
    """The type that `f8` stands for on a target: CDNA 3 lacks negative zero, all others have the OCP type."""
    return kind_named(target.backend).float8(target.chip.partition("+")[0])


def in_name(element_type: str) -> str:
    """As names of operations have it: lower case."""
    return element_type.lower()


def check_type(what: str, element_type: str, known: Sequence[str]) -> None:
    """Raise UsageError, with similar names, unless a type is one of these."""
    if element_type not in known:
        raise UsageError(
            f"{what}: unknown element type '{element_type}'", hint=did_you_mean(element_type, known)
        )
