"""`iree-tuner db replay --why`: explain the cost model's estimates and compare them with recorded times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.markup import escape
from rich.table import Table

from iree_tuner.cli.output import answers, people, print_json
from iree_tuner.errors import TunerError
from iree_tuner.search.cost.terms import Array, CostTerm, Estimate
from iree_tuner.search.replay.recorded import RecordedSpace
from iree_tuner.space.configuration import Assignment

_TITLES = {"estimate": "first by the cost model", "time": "fastest recorded"}


@dataclass(frozen=True)
class _Explained:
    """One member of a space with its estimate and its recorded time."""

    by: str  # the ranking that selected it: `estimate` or `time`
    member: Assignment  # its knobs
    cycles: float  # the estimate
    estimated_place: int  # its rank by the estimate, from 1
    time_us: float | None  # the recorded time. None if it did not run
    recorded_place: int | None  # its rank by the recorded time, from 1. None if it did not run
    terms: tuple[tuple[str, float, str, str], ...]  # name, value, unit and description of each term


def explain(spaces: Sequence[RecordedSpace], count: int, *, as_json: bool) -> None:
    """Print the terms of the `count` members that the model ranks first, and of the `count` fastest.

    Raises:
        TunerError: the cost model supports none of the recordings.
    """
    told = 0
    for space in spaces:
        estimate = space.encoder.estimate(space.members)
        if estimate is None:
            people.print(f"{space.name}: the cost model does not support it", markup=False)
            continue
        told += 1
        for each in _explained(space, estimate, count):
            if as_json:
                print_json(_to_json(space, each))
            else:
                _print(space, each)
    if not told:
        raise TunerError("the cost model supports none of these recordings")


def _explained(space: RecordedSpace, estimate: Estimate, count: int) -> list[_Explained]:
    """The members selected by the estimate, then those selected by the time."""
    expected = _order(np.log2(np.maximum(estimate.cycles, 1e-9)))
    times = np.array([space.times_us.get(member, np.inf) for member in space.members])
    ran = [place for place in _order(times) if np.isfinite(times[place])]
    by_estimate = {row: place for place, row in enumerate(expected, 1)}
    by_time = {row: place for place, row in enumerate(ran, 1)}
    return [
        _Explained(
            by, space.members[row], float(estimate.cycles[row]), by_estimate[row],
            float(times[row]) if row in by_time else None, by_time.get(row),
            tuple(_told(term, estimate.features, row) for term in estimate.terms),
        )
        for by, rows in (("estimate", expected[:count]), ("time", ran[:count]))
        for row in rows
    ]  # fmt: skip


def _order(values: Array) -> list[int]:
    """Ranks by value, lowest first. The sort is stable, so that it is the same on every machine."""
    return [int(place) for place in np.argsort(np.round(values, 6), kind="stable")]


def _told(term: CostTerm, features: Mapping[str, Array], row: int) -> tuple[str, float, str, str]:
    numbers = {name: float(column[row]) for name, column in features.items()}
    return term.name, float(term.value[row]), term.unit, term.why.format_map(numbers)


def _to_json(space: RecordedSpace, each: _Explained) -> dict[str, object]:
    return {
        "recording": space.name,
        "by": each.by,
        "knobs": dict(each.member),
        "estimated_cycles": round(each.cycles, 1),
        "estimated_place": each.estimated_place,
        "time_us": each.time_us,
        "best_us": space.best_us,
        "recorded_place": each.recorded_place,
        "terms": [
            {"name": name, "value": round(value, 4), "unit": unit, "why": why}
            for name, value, unit, why in each.terms
        ],
    }


def _print(space: RecordedSpace, each: _Explained) -> None:
    members = len(space.members)
    first = each.estimated_place if each.by == "estimate" else each.recorded_place
    if first == 1:
        answers.print(f"\n{space.name}: {_TITLES[each.by]}", style="bold", markup=False)
    knobs = " ".join(f"{name}={value}" for name, value in each.member.items())
    answers.print(f"\n{first}. {knobs}", markup=False, soft_wrap=True)
    recorded = "it did not run"
    if each.time_us is not None:
        times = each.time_us / space.best_us
        recorded = f"recorded {each.time_us:,.1f} us, {times:.2f} times the best, rank {each.recorded_place}"
    answers.print(
        f"   estimated {each.cycles:,.0f} cycles, rank {each.estimated_place} of {members}; {recorded}",
        markup=False,
    )
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_header=False)
    for justify in ("left", "right", "left", "left"):
        table.add_column(justify=justify)
    for name, value, unit, why in each.terms:
        table.add_row(
            f"   {name}", f"{value:,.0f}" if unit == "cycles" else f"{value:,.2f}", unit, escape(why)
        )
    answers.print(table)
