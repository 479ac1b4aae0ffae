"""The page of changes between two runs: broken and slower first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

from iree_tuner.report.page import check_installed, filled
from iree_tuner.suite.changes import ALIKE, VERDICTS, WORTH, Change, Spreads, cautions, changes, counts
from iree_tuner.suite.pages.together import facts_words, labels_of
from iree_tuner.suite.results import Results, RunFacts

if TYPE_CHECKING:
    from iree_tuner.suite.pages.together import Ratios


_WORDS = {
    "BROKEN": "broke", "FIXED": "were fixed", "SLOWER": "became slower", "FASTER": "became faster",
    "AMBIGUOUS": "are ambiguous", "NEW": "are new", "GONE": "are gone", "SAME": "are the same",
}  # fmt: skip


@dataclass(frozen=True)
class BackEndSummary:
    """A back end's rows on a device, summarized."""

    backend: str
    device: str
    ratio: float  # the geometric mean of the rows' speedups
    rows: int  # the number of rows; `paired` of them were interleaved with the earlier code
    paired: int
    faster: int
    slower: int


def changes_page(
    before: Results, after: Results, *, worth: float = WORTH, alike: float = ALIKE,
    spreads: Spreads | None = None,
) -> str:  # fmt: skip
    """Render the page. The arguments are those of `changes`.

    Raises:
        TunerError: a library for charts is missing, or the runs have no row in common.
    """
    check_installed()
    from iree_tuner.suite.pages.together import draw_ratios

    found = changes(before, after, worth=worth, alike=alike, spreads=spreads)
    labels = labels_of(tuple(dict.fromkeys(each.key[0] for each in found)))
    devices = tuple(dict.fromkeys(each.key[3] for each in found))
    charts: list[tuple[str, Ratios | None]] = [
        (device, draw_ratios([each for each in found if each.key[3] == device], labels, worth))
        for device in devices
    ]
    return filled(
        "changes.html.jinja", package="iree_tuner.suite.pages", before=before.facts, after=after.facts,
        headline=headline(found), counts=counts(found), cautions=cautions(before.facts, after.facts),
        summaries=summaries(found), charts=[(names(after.facts, device), each) for device, each in charts],
        several=len(devices) > 1, changes=sorted(found, key=_interest), labels=labels, worth=worth,
        facts=[("before", facts_words(before.facts)), ("after", facts_words(after.facts))], alike=alike,
    )  # fmt: skip


def headline(found: Sequence[Change]) -> str:
    """Summarize the changes in one sentence."""
    parts = [f"{count} {_WORDS[each]}" for each, count in counts(found).items()]
    return f"Of {len(found)} rows, {', '.join(parts)}" if parts else "No row has a time in either run"


def summaries(found: Sequence[Change]) -> tuple[BackEndSummary, ...]:
    """Summarize each back end's rows that have times. A change of all rows is rarely due to the code."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for each in found:
        if each.ratio is not None:
            groups.setdefault((each.key[1], each.key[3]), []).append(each)
    return tuple(
        BackEndSummary(
            backend, device, geometric_mean([each.ratio or 1.0 for each in group]), len(group),
            sum(each.paired for each in group), sum(each.verdict == "FASTER" for each in group),
            sum(each.verdict == "SLOWER" for each in group),
        )
        for (backend, device), group in groups.items()
    )  # fmt: skip


def names(facts: RunFacts, device: str) -> str:
    """A device's name, and its URI."""
    name = facts.devices.get(device, "")
    return f"{name} ({device})" if name else device


def _interest(change: Change) -> tuple[int, float]:
    return VERDICTS.index(change.verdict), change.ratio or 0.0
