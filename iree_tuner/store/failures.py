"""Failures grouped by their cause: what a fuzzer of the compiler would report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from iree_tuner.store.queries import NEWEST, all_studies, key_of
from iree_tuner.store.store import Store


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed for one reason."""

    outcome: str  # how they ended
    cause: str  # what they have in common
    count: int  # how many assignments
    studies: int  # in how many studies
    message: str  # what the newest one said
    reproducer: str  # folder that shows the newest one that has such a folder; empty when none has
    kernel: str = ""  # name of the external kernel that failed; empty where the compiler's own code did

    @property
    def named_cause(self) -> str:
        """The cause, with the kernel that it is of."""
        return f"{self.kernel}: {self.cause}" if self.kernel else self.cause


def failures(store: Store, cause_of: Callable[[str, str], str]) -> list[FailureGroup]:
    """Failures by cause, the most frequent first. `cause_of` gives the cause of an outcome and a message.

    Failures of an external kernel are its own: they are no information about the compiler or other kernels.
    """
    kernels = {number: key_of(store, number).kernel for number in all_studies(store)}
    groups: dict[tuple[str, str, str], FailureGroup] = {}
    studies: dict[tuple[str, str, str], set[int]] = {}
    query = NEWEST + (
        "SELECT study_id, outcome, message, reproducer FROM newest "
        "WHERE outcome NOT IN ('ok', 'too_slow') ORDER BY at DESC, id DESC"
    )
    for row in store.read(query):
        kernel = kernels[row["study_id"]]
        group = (row["outcome"], cause_of(row["outcome"], row["message"]), kernel)
        studies.setdefault(group, set()).add(row["study_id"])
        known = groups.get(group) or FailureGroup(*group[:2], 0, 0, row["message"], "", kernel)
        groups[group] = replace(
            known, count=known.count + 1, studies=len(studies[group]),
            reproducer=known.reproducer or row["reproducer"],
        )  # fmt: skip
    return sorted(groups.values(), key=lambda each: (-each.count, each.outcome, each.named_cause))
