"""A profile's findings as what charts show: one slice a workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from iree_tuner.report import reading
from iree_tuner.report.data import Roof, RoofLevel, Slice, TimeProfile
from iree_tuner.report.labels import short
from iree_tuner.report.reading import Body

_PLAIN = "f32"


def profile_of(body: Body, labels: Mapping[str, str]) -> TimeProfile:
    """A profile from its body.

    Args:
        body: see `store.findings.ProfileBody`.
        labels: what the report calls each workload, by its key.
    """
    whole_us = reading.positive(body.get("whole_us"))
    slices: dict[str, Slice] = {}
    for row in reading.objects(body.get("rows")):
        found = _slice(row, whole_us, labels)
        if found is not None:
            known = slices.get(found.label)
            slices[found.label] = found if known is None else _joined(known, found)
    return TimeProfile(
        when="after" if body.get("when") == "after" else "before",
        whole_us=whole_us,
        slices=tuple(sorted(slices.values(), key=lambda each: -each.time_us)),
        method=reading.text(body.get("method")),
        roof=_roof(reading.members(body.get("roofline"))),
        notes=reading.texts(body.get("notes")),
    )


def _slice(row: Body, whole_us: float | None, labels: Mapping[str, str]) -> Slice | None:
    """A row; None where it has no time."""
    time_us, share = reading.positive(row.get("time_us")), reading.positive(row.get("share"))
    if time_us is None and share is not None and whole_us is not None:
        time_us = share * whole_us
    if time_us is None:
        return None
    name = reading.text(row.get("workload_name")) or reading.text(row.get("name")) or "unnamed"
    return Slice(
        label=labels.get(reading.text(row.get("workload"))) or short(name),
        calls=reading.count(row.get("calls")),
        time_us=time_us,
        flops=reading.positive(row.get("flops")),
        bytes=reading.positive(row.get("bytes")),
        element_type=reading.text(row.get("element_type")),
        attainable_us=reading.positive(row.get("attainable_us")),
    )


def _joined(one: Slice, other: Slice) -> Slice:
    """Both; what is known of one only is not known of both."""
    return replace(
        one,
        calls=None if one.calls is None or other.calls is None else one.calls + other.calls,
        time_us=one.time_us + other.time_us,
        flops=_sum(one.flops, other.flops),
        bytes=_sum(one.bytes, other.bytes),
        attainable_us=_sum(one.attainable_us, other.attainable_us),
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _roof(body: Body) -> Roof:
    peaks = {
        reading.text(kind): peak
        for kind, value in reading.members(body.get("flops_per_s")).items()
        if (peak := reading.positive(value)) is not None
    }
    single = reading.positive(body.get("flops_per_s"))
    levels = [
        RoofLevel(speed, reading.positive(each.get("capacity_bytes")))
        for each in reading.objects(body.get("levels"))
        if (speed := reading.positive(each.get("bytes_per_s"))) is not None
    ]
    memory = reading.positive(body.get("bytes_per_s"))
    return Roof(
        peaks=peaks or ({} if single is None else {_PLAIN: single}),
        levels=tuple(levels) or (() if memory is None else (RoofLevel(memory),)),
        how=reading.text(body.get("how")),
    )
