"""This project's additions to a constraints op, each with its reason and the releases it holds for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iree_tuner.space.gpu.draft import Draft


@dataclass(frozen=True)
class Supplement:
    """One addition to constraint ops.

    Attributes:
        name: short, for messages and tests.
        reason: what goes wrong without it, and where in the compiler that is decided.
        releases: the compiler releases that it has been checked with: `("3.13",)`.
        applies: whether a draft needs it.
        extend: adds knobs and asserts.
    """

    name: str
    reason: str
    releases: tuple[str, ...]
    applies: Callable[[Draft], bool]
    extend: Callable[[Draft], None]


def apply(supplements: tuple[Supplement, ...], draft: Draft) -> None:
    """Extend a draft by all supplements that apply to it, in their order."""
    for supplement in supplements:
        if supplement.applies(draft):
            supplement.extend(draft)
