"""Which of a space's constraints the compiler insists on.

A space says where a search goes. The compiler refuses configurations that break some of its asserts. Others
keep the search from code that is slow, compiles for long, or is the same as another member's. The compiler's
own ops mix the two as well: most of its constraints are not checked when it compiles. A configuration that a
person wrote is judged by a *ruling* over these asserts: some are rules, some are worth a warning, some say
nothing.

Which is which was found by compiling configurations that break one of them (benchmarks/verify_agreement.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from iree_tuner.space.expressions import Boolean, Integer, any_of, constant, if_else

Force = Literal["rule", "warning", "none"]
"""The effect of breaking an assert: the compiler refuses it or makes wrong code of it (`rule`); it takes it,
though the code is slow, compiles for long, or is not what the constraint's authors had in mind (`warning`);
nothing, as the assert only says what a search tries (`none`)."""

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Ruling(Generic[Subject]):
    """How the asserts of one kind of space are taken, and what is to be asserted instead of some.

    Attributes:
        name: short, for tests.
        reason: where in the compiler that is decided.
        releases: the compiler releases that it has been checked with.
        applies: whether a space is of the kind.
        rules: patterns of the messages of asserts that are rules; None for all but `nothing`.
        nothing: patterns of the messages of asserts that do not describe the compiler, or that `extend`
            replaces.
        extend: adds asserts, which are rules.
        settle: turns the knobs' values into the ones that the compiler uses.
        only_where: patterns of two messages: asserts of the first count only if the second hold.
    """

    name: str
    reason: str
    releases: tuple[str, ...]
    applies: Callable[[Subject], bool]
    rules: tuple[str, ...] | None = None
    nothing: tuple[str, ...] = ()
    extend: Callable[[Subject], None] | None = None
    settle: Callable[[Subject, Mapping[str, int]], Mapping[str, int]] | None = None
    only_where: tuple[str, str] | None = None

    def force(self, message: str) -> Force:
        """The effect of breaking an assert of the space's own."""
        if any(re.search(pattern, message) for pattern in self.nothing):
            return "none"
        if self.rules is None or any(re.search(pattern, message) for pattern in self.rules):
            return "rule"
        return "warning"


def first_ruling(rulings: Sequence[Ruling[Subject]], subject: Subject) -> Ruling[Subject] | None:
    """The ruling for a space; None where there is none, and all its asserts are rules."""
    return next((each for each in rulings if each.applies(subject)), None)


def rounded_up(value: Integer, step: Integer | int) -> Integer:
    """The next multiple."""
    return (value + step - 1) // step * step


def at_most(value: Integer, limit: int) -> Integer:
    """The value, or the limit where it is larger: a tile is cut to its loop."""
    return if_else(value <= limit, value, limit)


def divides_or_covers(tile: Integer, size: int) -> Boolean:
    """Whether the last tile along a loop is as large as the others, or there is only one."""
    return any_of([(constant(size) % tile).equals(0), tile >= size])
