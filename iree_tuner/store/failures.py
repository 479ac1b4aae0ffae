"""Failures grouped by their cause: what a fuzzer of the compiler would report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from iree_tuner.store.queries import NEWEST
from iree_tuner.store.store import Store


@dataclass(frozen=True)
class Failure:
    """Trials that failed for one reason.

    Attributes:
        outcome: how they ended.
        cause: what they have in common.
        count: how many assignments.
        studies: in how many studies.
        message: what the newest one said.
        reproducer: folder that shows the newest one that has such a folder; empty when none has.
    """

    outcome: str
    cause: str
    count: int
    studies: int
    message: str
    reproducer: str


def failures(store: Store, cause_of: Callable[[str, str], str]) -> list[Failure]:
    """Failures by cause, the most frequent first. `cause_of` gives the cause of an outcome and a message."""
    groups: dict[tuple[str, str], Failure] = {}
    studies: dict[tuple[str, str], set[int]] = {}
    query = NEWEST + (
        "SELECT study_id, outcome, message, reproducer FROM newest "
        "WHERE outcome NOT IN ('ok', 'too_slow') ORDER BY at DESC, id DESC"
    )
    for row in store.read(query):
        group = (row["outcome"], cause_of(row["outcome"], row["message"]))
        studies.setdefault(group, set()).add(row["study_id"])
        known = groups.get(group) or Failure(*group, 0, 0, row["message"], "")
        groups[group] = replace(
            known, count=known.count + 1, studies=len(studies[group]),
            reproducer=known.reproducer or row["reproducer"],
        )  # fmt: skip
    return sorted(groups.values(), key=lambda each: (-each.count, each.outcome, each.cause))
