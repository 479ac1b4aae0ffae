"""The page of a history: how operations' times changed from run to run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree_tuner.errors import TunerError
from iree_tuner.report.page import check_installed, filled
from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.history import History
from iree_tuner.suite.pages.contenders import labels_of
from iree_tuner.suite.pages.words import conditions_words
from iree_tuner.suite.results import Results

if TYPE_CHECKING:
    from iree_tuner.report.charts.look import Drawing
    from iree_tuner.suite.pages.course import Lines

MOST = 120
"""Runs; of more, the last ones are shown."""


@dataclass(frozen=True)
class Course:
    """An operation's chart; `lines` are its data."""

    operation: str
    label: str
    lines: Lines
    drawing: Drawing


@dataclass(frozen=True)
class Place:
    """Runs whose times can be compared: on one device, under the same conditions.

    Attributes:
        device: its name, and its URI.
        conditions: as names and values.
        runs: oldest first.
        left_out: how many older runs are not shown.
        ratios: of each run: geometric mean of all its rows, times as fast as in their first runs.
        courses: by operation.
        colors: of lines, for a legend.
    """

    device: str
    conditions: tuple[tuple[str, str], ...]
    runs: tuple[Results, ...]
    left_out: int
    ratios: tuple[float | None, ...]
    courses: tuple[Course, ...]
    colors: Mapping[str, str]


def history_page(history: History) -> str:
    """The page. Raises TunerError where a library for drawing is missing, or the history has no runs."""
    check_installed()
    if not history.results:
        raise TunerError("the history has no runs", location=str(history.path))
    return filled(
        "history.html.jinja",
        package="iree_tuner.suite.pages",
        name=history.path.name,
        note=history.note,
        runs=history.results,
        places=places(history),
    )


def places(history: History) -> tuple[Place, ...]:
    """Those of a history, the one with most runs first."""
    from iree_tuner.suite.pages.course import device_of

    groups: dict[tuple[str, Conditions], list[Results]] = {}
    for run in history.results:
        for device in dict.fromkeys(map(device_of, run.rows)):
            groups.setdefault((device, run.facts.conditions), []).append(run)
    order = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple(_place(device, conditions, runs) for (device, conditions), runs in order)


def _place(device: str, conditions: Conditions, runs: Sequence[Results]) -> Place:
    from iree_tuner.suite.pages.course import draw_course, lines_of
    from iree_tuner.suite.pages.series import color_of

    shown = runs[-MOST:]
    lines = lines_of(shown, device)
    labels = labels_of(tuple(lines))
    all_ = tuple(dict.fromkeys(name for each in lines.values() for name in each))
    return Place(
        device,
        conditions_words(conditions),
        tuple(shown),
        len(runs) - len(shown),
        _ratios(lines, len(shown)),
        tuple(Course(name, labels[name], each, draw_course(name, each, shown, all_))
              for name, each in lines.items()),
        {each: color_of(each, all_) for each in all_},
    )  # fmt: skip


def _ratios(lines: Mapping[str, Lines], runs: int) -> tuple[float | None, ...]:
    logs: list[list[float]] = [[] for _ in range(runs)]
    for by_name in lines.values():
        for points in by_name.values():
            for each in points:
                logs[each.place].append(math.log(each.ratio))
    return tuple(math.exp(sum(each) / len(each)) if each else None for each in logs)
