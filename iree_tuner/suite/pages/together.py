"""Rows of one or more runs, for one page, and the best row of each back end.

And charts of speedups: of rows over an earlier run, and of tuned code over IREE's default.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

import altair as alt

from iree_tuner.errors import TunerError
from iree_tuner.profiling import roofline
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.report.charts import look
from iree_tuner.report.charts.look import FAINT, FAST, SAME, SLOW, VERDICTS, Drawing, drawn, ratios, rows_high
from iree_tuner.report.numbers import day, interval, positive, seconds, short, unlike
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.changes import Change
from iree_tuner.suite.results import Results, Row, RunFacts


@dataclass(frozen=True)
class Together:
    """The merged runs that a page shows."""

    runs: tuple[RunFacts, ...]  # the facts of each run
    rows: tuple[Row, ...]  # the rows of all runs, with finite numbers only. `device` is a unique name
    rooflines: Mapping[str, Roofline]  # the known rooflines, by device name
    notes: tuple[str, ...] = ()  # warnings about the comparison of several runs, one line each

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.device for row in self.rows))

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.operation for row in self.rows))


def together(results: Sequence[Results]) -> Together:
    """Merge the rows of runs. The last of several equal rows counts.

    Raises TunerError if there are no rows, or a roofline is malformed.
    """
    if not any(each.rows for each in results):
        raise TunerError("the run has no rows yet", location=", ".join(each.facts.id for each in results))
    labels = _labels(results)
    rows: dict[tuple[str, ...], Row] = {}
    rooflines: dict[str, Roofline] = {}
    doubled = 0
    for each in results:
        for row in each.rows:
            found = _plain(replace(row, device=labels[row.device, row.device_name]))
            doubled += rows.pop(found.key, None) is not None
            rows[found.key] = found
        for (uri, name), label in labels.items():
            if uri in each.facts.rooflines and each.facts.devices.get(uri, name) == name:
                rooflines.setdefault(label, _roofline(each.facts.rooflines[uri], label))
    found = tuple(rows.values())
    if len(results) > 1:
        first = rooflines.get(found[0].device)
        found = tuple(replace(row, normalized_us=_normalized_us(row, first)) for row in found)
    return Together(tuple(each.facts for each in results), found, rooflines, _notes(results, doubled))


def _plain(row: Row) -> Row:
    """Without impossible times, speedups and amounts, as charts have logarithmic axes."""
    return replace(
        row, flops=positive(row.flops) or 0.0, bytes=positive(row.bytes) or 0.0,
        time_us=positive(row.time_us), interval_us=interval(row.interval_us),
        roofline_share=positive(row.roofline_share), normalized_us=positive(row.normalized_us),
        speedup=positive(row.speedup), speedup_interval=interval(row.speedup_interval),
    )  # fmt: skip


def _labels(results: Sequence[Results]) -> dict[tuple[str, str], str]:
    """URI and name to its name on the page: the name alone, if that is enough."""
    devices = dict.fromkeys((row.device, row.device_name) for each in results for row in each.rows)
    names = Counter(name for _, name in devices)
    return {
        (uri, name): name if name and names[name] == 1 else device_words(uri, name) for uri, name in devices
    }


def device_words(uri: str, name: str) -> str:
    """A device's name, if it is known, and its URI."""
    return f"{name} ({uri})" if name else uri


def _roofline(data: Mapping[str, object], device: str) -> Roofline:
    try:
        return roofline.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TunerError(f"not a roofline: {error}", location=device) from None


def _normalized_us(row: Row, first: Roofline | None) -> float | None:
    """Of the first device of all runs."""
    if first is None or not row.roofline_share:
        return None
    return first.attainable_us(row.flops, row.bytes, row.compute_type) / row.roofline_share or None


def _notes(results: Sequence[Results], doubled: int) -> tuple[str, ...]:
    first = results[0].facts
    runs = (each.facts for each in results)
    other = [each.name or each.id for each in runs if each.conditions != first.conditions]
    notes: list[str] = []
    if other:
        notes.append(f"{', '.join(other)}: measured under conditions that differ from those of {first.name}")
    if doubled:
        notes.append(f"{doubled} rows are in several runs; the page shows the last one")
    return (*notes, *(each.note for each in results if each.note))


# Contenders that are compared with IREE's default: back ends, each with the best of its configurations.


BASE = "iree"
"""IREE's default, on pages."""

BEST = "iree, best configuration"
_DEFAULTS = ("", "default")


@dataclass(frozen=True)
class Gain:
    """A contender against IREE's default, over operations; or against an earlier run, over rows."""

    contender: str
    device: str
    speedup: float  # geometric mean
    operations: int  # or rows
    # faster, slower: those that surely are
    faster: int
    slower: int
    paired: int = 0  # those measured in turns with the earlier code

    @property
    def uncertain(self) -> int:
        """Operations with an interval on both sides of 1, or without one."""
        return self.operations - self.faster - self.slower


def gain_of(place: tuple[str, str], found: Sequence[tuple[float, bool, bool]], paired: int = 0) -> Gain:
    """Of a contender on a device: its speedups, each with whether it surely is faster, or slower."""
    speedups, faster, slower = zip(*found, strict=True)
    return Gain(*place, geometric_mean(speedups), len(found), sum(faster), sum(slower), paired)


def standings(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The fastest row of each device, operation and contender, in their order; of a page's rows.

    Their back ends are called as contenders: `BEST` is IREE with other configurations than the default. The
    default has no speedup.
    """
    found: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        is_base = row.backend == BASE and row.configuration in _DEFAULTS
        if row.backend == BASE:
            row = replace(row, speedup=None) if is_base else replace(row, backend=BEST)
        place = (row.device, row.operation, row.backend)
        if row.state == "ok" and row.time_us is not None:
            found[place] = min(found.get(place, row), row, key=lambda each: each.time_us or 0.0)
    return tuple(found.values())


def gains(found: Sequence[Row]) -> tuple[Gain, ...]:
    """Of each contender on each device that was compared with IREE's default, best first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for each in found:
        if each.speedup is not None:
            groups.setdefault((each.backend, each.device), []).append(each)
    made = [
        gain_of(place, [(each.speedup or 1.0, *_surely(each.speedup_interval)) for each in group])
        for place, group in groups.items()
    ]
    devices = list(dict.fromkeys(each.device for each in found))
    return tuple(sorted(made, key=lambda each: (devices.index(each.device), -each.speedup)))


def _surely(interval: tuple[float, float] | None) -> tuple[bool, bool]:
    """Whether a whole interval is above 1, or below."""
    low, high = interval or (1.0, 1.0)
    return low > 1, high < 1


def contenders(found: Iterable[Row]) -> tuple[str, ...]:
    """All of them, IREE's first."""
    names = dict.fromkeys(each.backend for each in found)
    own = [each for each in (BASE, BEST) if each in names]
    own += [each for each in names if each.startswith(BASE) and each not in own]
    return (*own, *(each for each in names if each not in own))


def labels_of(operations: Sequence[str]) -> Mapping[str, str]:
    """The charts' names of operations, by their full names."""
    return dict(zip(operations, unlike([short(each) for each in operations]), strict=True))


MOST = 60
"""Rows of a chart: the changed ones first, then those farthest from 1."""

COLORS = {"SLOWER": VERDICTS["lose"], "FASTER": VERDICTS["win"], "AMBIGUOUS": "#c9a100", "SAME": SAME}


@dataclass(frozen=True)
class Ratios:
    """A chart of rows."""

    drawing: Drawing
    shown: int  # rows of the chart
    timed: int  # rows that could be shown


def draw_ratios(found: Sequence[Change], labels: Mapping[str, str], worth: float) -> Ratios | None:
    """A point and an interval for each row; None where none was timed in both runs.

    Args:
        found: on one device.
        labels: of operations.
        worth: relative difference that counts as a change; a band.
    """
    timed = [each for each in found if each.ratio is not None]
    rows = ratio_rows(timed, labels)
    if not rows:
        return None
    there = {row["verdict"] for row in rows}
    colors = {verdict: color for verdict, color in COLORS.items() if verdict in there}
    ends = [float(str(row[name])) for row in rows for name in ("ratio", "low", "high")]
    low, high = min(0.9, *ends) / 1.02, max(1.1, *ends) * 1.02
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~g", values=ratios(low, high), orient="top", title="speedup over the earlier run")
    base = alt.Chart(alt.NamedData("ratios")).encode(
        y=alt.Y("label:N", sort=[str(row["label"]) for row in rows], title=None,
                axis=alt.Axis(labelLimit=320)),
        color=look.colored("verdict:N", colors),
        tooltip=[
            "operation:N", alt.Tooltip("backend:N", title="back end"), "verdict:N",
            alt.Tooltip("ratio:Q", title="speedup", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("before:Q", title="before, µs", format=",.4~g"),
            alt.Tooltip("after:Q", title="after, µs", format=",.4~g"),
        ],
    )  # fmt: skip
    around, x = alt.Chart(alt.NamedData("band")), alt.X("low:Q", scale=scale)
    band = around.mark_rect(color=FAINT, opacity=0.12).encode(x=x, x2="high:Q")
    one = around.mark_rule(color=FAINT).encode(x=alt.X("one:Q", scale=scale))
    intervals = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=x, x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("ratio:Q", scale=scale, axis=axis)
    )
    chart = alt.layer(band, one, intervals, points).properties(height=rows_high(len(rows)))
    data = {"ratios": rows, "band": [{"low": 1 / (1 + worth), "one": 1.0, "high": 1 + worth}]}
    drawing = drawn(chart, data, "Speedup of each row over the earlier run, with its confidence interval")
    return Ratios(drawing, len(rows), len(timed))


def ratio_rows(timed: Sequence[Change], labels: Mapping[str, str]) -> list[look.Row]:
    """Of the shown rows, slowest first."""
    order = ("SLOWER", "FASTER", "AMBIGUOUS", "SAME")
    chosen = sorted(timed, key=lambda each: (order.index(each.verdict), -abs(math.log(each.ratio or 1.0))))
    shown = sorted(chosen[:MOST], key=lambda each: each.ratio or 0.0)
    names = unlike([" ".join(filter(None, (labels[each.key[0]], *each.key[1:3]))) for each in shown])
    return [
        {
            "label": name, "operation": each.key[0], "backend": " ".join(filter(None, each.key[1:3])),
            "verdict": each.verdict, "ratio": each.ratio, "low": (each.interval or (each.ratio,))[0],
            "high": (each.interval or (each.ratio,))[-1],
            "before": each.before and positive(each.before.time_us),
            "after": each.after and positive(each.after.time_us),
        }
        for name, each in zip(names, shown, strict=True)
    ]  # fmt: skip


# The conditions of runs, in words.


_TIMING = {
    "call": "per call: the caller waits for each call before it makes the next",
    "device": "on the device: calls in batches, minus the time of an empty batch",
}
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def facts_words(facts: RunFacts) -> tuple[tuple[str, str], ...]:
    """The known facts of a run, as readable names and values."""
    devices = (device_words(*each) for each in facts.devices.items())
    found = (
        ("device" if len(facts.devices) == 1 else "devices", ", ".join(devices)),
        ("commit", facts.commit),
        ("compiler", f"IREE {facts.compiler}" if facts.compiler else ""),
        ("libraries", ", ".join(f"{name} {each}" for name, each in facts.versions.items() if each)),
        *conditions_words(facts.conditions),
        ("run", facts.id),
        ("interleaved with", facts.against),
        ("started", day(facts.started or None)),
    )
    return tuple((name, value) for name, value in found if value)


def conditions_words(conditions: Conditions) -> tuple[tuple[str, str], ...]:
    """The conditions of samples, as readable names and values."""
    size = conditions.copies_bytes
    memory = next((f"{size / unit:.3g} {name}" for name, unit in _UNITS if size >= unit), f"{size} B")
    load = conditions.background_load_s
    return (
        ("timing", _TIMING[conditions.timing]),
        (
            "caches",
            f"cold: inputs rotate through {memory} of copies" if size else "warm: one copy of the inputs",
        ),
        ("threads", f"{conditions.threads} of the host" if conditions.threads else "the device's own"),
        ("streams", f"{conditions.streams} concurrent copies" if conditions.streams > 1 else "1"),
        ("background load", f"a large product for {_short(load)} before each sample" if load else "none"),
        (
            "samples",
            f"up to {conditions.rounds} of at least {_short(conditions.batch_s)}, each after a pause of "
            f"{_short(conditions.pause_s)}; up to {seconds(conditions.seconds)} per operation",
        ),
    )


def _short(duration_s: float) -> str:
    return f"{duration_s:.3g} s" if duration_s >= 1 else f"{duration_s * 1e3:.3g} ms"


# Tuned IREE against IREE's default: a point for each operation.


TUNED = ("iree-tuned", BEST)

_HEIGHT_PX = 420
_LINES = (("as fast", 1.0), ("1.5x as fast", 1.5), ("1.5x as slow", 1 / 1.5))
_NAMES = {"faster": FAST, "no difference": SAME, "slower": SLOW}


def draw_scatter(found: Sequence[Row]) -> Drawing | None:
    """Times of both on one device on equal axes, with the diagonal; None where nothing is tuned."""
    rows = scatter_rows(found)
    if not rows:
        return None
    times = [float(str(row[name])) for row in rows for name in ("x", "y", "low", "high")]
    ends = [min(times) / 1.5, max(times) * 1.5]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(format="~g", values=ratios(*ends))
    x = alt.X("x:Q", scale=scale, title="IREE's default, µs", axis=axis)
    y = alt.Y("y:Q", scale=scale, title="tuned, µs", axis=axis)
    lines = [{"line": name, "x": end, "y": end / factor} for name, factor in _LINES for end in ends]
    dash = alt.condition("datum.line == 'as fast'", alt.value([1, 0]), alt.value([4, 4]))
    diagonals = alt.Chart(alt.NamedData("lines")).mark_line(stroke=FAINT, clip=True, strokeWidth=1)
    there = {row["verdict"] for row in rows}
    base = alt.Chart(alt.NamedData("points")).encode(
        color=look.colored("verdict:N", {name: color for name, color in _NAMES.items() if name in there}),
        tooltip=[
            "operation:N", alt.Tooltip("contender:N", title="back end"),
            alt.Tooltip("x:Q", title="default, µs", format=",.4~g"),
            alt.Tooltip("y:Q", title="tuned, µs", format=",.4~g"), alt.Tooltip("speedup:Q", format=".3f"),
        ],
    )  # fmt: skip
    intervals = base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=0.85).encode(x=x, y=y)
    lines_ = diagonals.encode(x=x, y=y, detail="line:N", strokeDash=dash)
    chart = alt.layer(lines_, intervals, points).properties(height=_HEIGHT_PX)
    about = "Tuned time of each operation against its time with IREE's default"
    return drawn(chart, {"points": rows, "lines": lines}, about)


def scatter_rows(found: Sequence[Row]) -> list[look.Row]:
    """Operations that have both; the interval is the speedup's, at the default's time."""
    default = {each.operation: each.time_us or 0.0 for each in found if each.backend == BASE}
    rows: list[look.Row] = []
    for each in found:
        if each.backend not in TUNED or each.speedup is None or each.operation not in default:
            continue
        x = default[each.operation]
        low, high = each.speedup_interval or (each.speedup, each.speedup)
        verdict = "faster" if low > 1 else "slower" if high < 1 else "no difference"
        rows.append({
            "operation": each.operation, "contender": each.backend, "speedup": each.speedup,
            "x": x, "y": x / each.speedup, "low": x / high, "high": x / low, "verdict": verdict,
        })  # fmt: skip
    return rows
