"""Winners that hurt the program: found by leaving out halves, and left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from iree_tuner.measure.program import ProgramComparison
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersion, ProgramVersions

_KEPT_PROMISE = 0.5
"""The part of its entries' promised gain that the program must reach, or they are examined."""

_WORTH_A_LOOK = 0.02
"""Of the program's time: a smaller promise cannot be distinguished from no gain."""


@dataclass
class Patience:
    """The limit of the search for harmful entries: so many comparisons, while there is time."""

    steps: int
    is_time: Callable[[], bool] = lambda: True

    def spend(self) -> bool:
        """Take one comparison; False when there is none left."""
        self.steps -= 1
        return self.steps >= 0 and self.is_time()


def keeps_its_promise(gained: float, promised: float) -> bool:
    """Whether a program gains what its parts promise, both as parts of its time.

    Parts overlap, share caches, and are measured alone: a half is near enough.
    """
    return promised < _WORTH_A_LOOK or gained >= _KEPT_PROMISE * promised


def prune(
    whole: ProgramVersions,
    version: ProgramVersion,
    found: ProgramComparison,
    base: ProgramVersion,
    look: ComparisonPlan,
    patience: Patience,
) -> ProgramVersion:
    """The version without the entries that make the program slower, or its results wrong.

    The entries to leave out: without them the program is measurably faster, at least on one of several
    sizes (or right again). They are found by leaving out halves of halves. Where a half hurts and neither of
    its own halves does, all of it goes.

    Args:
        whole: the program.
        version: with all entries.
        found: what is wrong with it.
        base: the same with only the entries that stay at any cost.
        look: how versions are compared.
        patience: how long to look; the version as it is by then is returned.
    """
    if found.error:
        return _repaired(whole, version, base, look, patience)
    suspects = [entry for entry in version.entries if entry not in base.entries]
    harmful = _harmful(whole, version, suspects, look, patience)
    return _without(version, harmful)


def _harmful(
    whole: ProgramVersions,
    version: ProgramVersion,
    suspects: Sequence[SpecEntry],
    look: ComparisonPlan,
    patience: Patience,
) -> list[SpecEntry]:
    """Those of the suspects that hurt."""
    halves = _halves(suspects)
    if not halves or not patience.spend():
        return []
    found = whole.compare(version, [_without(version, half) for half in halves], look)
    harmful: list[SpecEntry] = []
    for half, one in zip(halves, found, strict=True):
        if one.comparison is None or not one.wins_somewhere:
            continue
        if len(half) == 1:
            harmful += half
            continue
        harmful += _harmful(whole, version, half, look, patience) or half
    return harmful


def _repaired(
    whole: ProgramVersions,
    version: ProgramVersion,
    base: ProgramVersion,
    look: ComparisonPlan,
    patience: Patience,
) -> ProgramVersion:
    """Halve until the program is right: what is kept is the half that is, again and again."""
    suspects = [entry for entry in version.entries if entry not in base.entries]
    if len(suspects) <= 1 or not patience.spend():
        return base
    halves = [replace(version, entries=(*base.entries, *half)) for half in _halves(suspects)]
    named = [replace(half, what=_named(version.what, half.entries)) for half in halves]
    found = whole.compare(base, named, look)
    good = [half for half, one in zip(named, found, strict=True) if one.ok]
    bad = [half for half, one in zip(named, found, strict=True) if not one.ok]
    kept = {entry for half in good for entry in half.entries}
    for half in bad:
        kept |= set(_repaired(whole, half, base, look, patience).entries)
    order = {entry: place for place, entry in enumerate(version.entries)}
    entries = tuple(sorted(kept, key=lambda entry: order[entry]))
    return replace(version, what=_named(version.what, entries), entries=entries)


def _halves(entries: Sequence[SpecEntry]) -> list[list[SpecEntry]]:
    """Two halves; every other entry, so that entries with the largest shares are not all in one."""
    return [half for half in (list(entries[::2]), list(entries[1::2])) if half]


def _without(version: ProgramVersion, part: Sequence[SpecEntry]) -> ProgramVersion:
    entries = tuple(entry for entry in version.entries if entry not in part)
    if entries == version.entries:
        return version
    left_out = ", ".join(entry.workload.name for entry in part)
    return replace(version, what=f"{version.what} without {left_out}", entries=entries)


def _named(what: str, entries: Sequence[SpecEntry]) -> str:
    names = ", ".join(entry.workload.name for entry in entries)
    return f"{what.split(' with only ')[0]} with only {names}" if names else what
