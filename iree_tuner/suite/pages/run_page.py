"""The report of one or several suite runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from iree_tuner.report.page import check_installed, filled
from iree_tuner.suite.pages.contenders import BASE, Gain, Standing, contenders, gains, labels_of, standings
from iree_tuner.suite.pages.together import Together, together
from iree_tuner.suite.pages.words import facts_words
from iree_tuner.suite.results import Results
from iree_tuner.suite.row import Row, State

if TYPE_CHECKING:
    from iree_tuner.report.charts.look import Drawing

PACKAGE = "iree_tuner.suite.pages"


@dataclass(frozen=True)
class OnDevice:
    """The charts of a device. A chart without data is None.

    Attributes:
        device: the device's name on the page.
        how: the source of its roofline.
    """

    device: str
    how: str
    roofline: Drawing | None
    speedups: Drawing | None
    scatter: Drawing | None


@dataclass(frozen=True)
class NotOk:
    """Rows with the same state (other than `ok`) and the same message."""

    state: State
    backend: str
    device: str
    message: str
    operations: tuple[str, ...]


def run_page(results: Sequence[Results]) -> str:
    """Render the page. Raises TunerError if a library for charts is missing, or there are no rows."""
    check_installed()
    shown = together(results)
    found = standings(shown.rows)
    all_ = contenders(found)
    best = gains(found)
    labels = labels_of(shown.operations)
    return filled(
        "run.html.jinja",
        package=PACKAGE,
        shown=shown,
        headline=headline(shown, best),
        gains=best,
        facts=[(facts, facts_words(facts)) for facts in shown.runs],
        charts=[_on_device(shown, device, found, all_) for device in shown.devices],
        devices=_devices(shown, found, all_) if len(shown.devices) > 1 else [],
        labels=labels,
        not_ok=not_ok(shown.rows),
    )


def headline(shown: Together, best: Sequence[Gain]) -> str:
    """Summarize the results in one sentence."""
    many = f"{len(shown.operations)} operations"
    if not best:
        ok = sum(row.state == "ok" for row in shown.rows)
        return (
            f"{many}: {ok} of {len(shown.rows)} rows have a time, and none was compared with IREE's default"
        )
    first = next((each for each in best if each.contender.startswith(BASE)), best[0])
    return (
        f"Over {first.operations} of {many}, {first.contender} is {first.speedup:.2f}x as fast as "
        "IREE's default"
    )


def not_ok(rows: Sequence[Row]) -> tuple[NotOk, ...]:
    """Group rows by reason: failures first, then the most frequent reasons."""
    groups: dict[tuple[State, str, str, str], list[str]] = {}
    for row in rows:
        if row.state != "ok":
            groups.setdefault((row.state, row.backend, row.device, row.message), []).append(row.dispatch)
    states = ("failed", "lost", *get_args(State))
    found = [NotOk(*reason, tuple(names)) for reason, names in groups.items()]
    return tuple(sorted(found, key=lambda each: (states.index(each.state), -len(each.operations))))


def _on_device(shown: Together, device: str, found: Sequence[Standing], all_: Sequence[str]) -> OnDevice:
    from iree_tuner.suite.pages.roofline import draw_roofline
    from iree_tuner.suite.pages.scatter import draw_scatter
    from iree_tuner.suite.pages.speedups import draw_speedups

    mine = [each for each in found if each.row.device == device]
    roofline = shown.rooflines.get(device)
    return OnDevice(
        device,
        roofline.how if roofline else "",
        draw_roofline(mine, roofline, all_),
        draw_speedups(mine, labels_of(shown.operations), all_),
        draw_scatter(mine),
    )


def _devices(shown: Together, found: Sequence[Standing], all_: Sequence[str]) -> list[tuple[str, Drawing]]:
    """A chart for each back end that several devices have."""
    from iree_tuner.suite.pages.devices import draw_devices

    labels = labels_of(shown.operations)
    charts = ((each, draw_devices(found, each, shown.devices, labels)) for each in all_)
    return [(each, drawing) for each, drawing in charts if drawing is not None]
