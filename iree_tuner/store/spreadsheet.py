"""Trials as rows of a table, for spreadsheets and data frames: one a trial, a column for each knob."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iree_tuner.store.queries import key_of
from iree_tuner.store.store import Store

_FIRST = ("study", "workload", "target", "device", "space", "outcome", "time_us", "baseline_us", "speedup")
_LAST = ("compile_s", "measure_s", "worst_error", "message")


def csv_rows(store: Store, studies: Sequence[int]) -> Iterator[Sequence[object]]:
    """A header, and a row for each trial of some studies; empty where a trial has no such value or knob."""
    found = [(number, key_of(store, number), store.trials(number).values()) for number in studies]
    knobs = list(dict.fromkeys(name for _, _, trials in found for each in trials for name in each.assignment))
    yield (*_FIRST, *knobs, *_LAST)
    for number, key, trials in found:
        for each in trials:
            time_us = each.time_us
            speedup = each.baseline_us / time_us if time_us and each.outcome == "ok" else None
            yield (
                number, key.workload.name, key.setting.target, each.device or key.setting.device,
                key.space_label, each.outcome, time_us, each.baseline_us or None, speedup,
                *(each.assignment.get(name) for name in knobs),
                each.compile_s, each.measure_s, each.worst, each.message,
            )  # fmt: skip
