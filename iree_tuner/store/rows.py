"""Trials as rows of a table and as JSON, without loss."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import cast, get_args

import msgspec

from iree_tuner.device.outcome import Outcome
from iree_tuner.measure.statistics import Comparison
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.causes import stored_json
from iree_tuner.store.trial import Trial

Record = Mapping[str, object]
"""One line of a file: an object of JSON."""

COLUMNS = (
    "workload", "assignment", "outcome", "samples", "baseline_us", "message", "digest", "compile_s",
    "measure_s", "device", "worst", "readings", "at", "reproducer",
)  # fmt: skip
"""Columns that hold a trial; `time_us` is written in addition and not read."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

_FLOATS = ("baseline_us", "compile_s", "measure_s", "at")
_TEXTS = ("workload", "message", "digest", "device", "reproducer")
_IN_JSON = (*_TEXTS, *_FLOATS, "assignment", "outcome", "samples_us", "worst", "readings")


def trial_to_row(trial: Trial) -> tuple[object, ...]:
    """Values of `COLUMNS`, and `time_us` last."""
    values: dict[str, object] = {name: real(getattr(trial, name)) for name in _FLOATS}
    values |= {name: text(getattr(trial, name)) for name in _TEXTS}
    values |= {
        "assignment": assignment_text(trial.assignment),
        "outcome": trial.outcome,
        "samples": struct.pack(f"<{len(trial.samples_us)}d", *trial.samples_us),
        "worst": None if trial.worst is None else real(trial.worst),
        "readings": json.dumps(plain(asdict(trial.readings))),
    }
    return (*(values[name] for name in COLUMNS), least(trial.samples_us))


def trial_from_row(row: Mapping[str, object]) -> Trial:
    """The trial again."""
    data = {name: row[name] for name in (*_FLOATS, *_TEXTS, "worst", "outcome")}
    data["assignment"] = stored_json(cast("str", row["assignment"]))
    data["readings"] = stored_json(cast("str", row["readings"]))
    data["samples_us"] = unpack_samples(cast("bytes", row["samples"]))
    return trial_from_json(data)


def trial_to_json(trial: Trial) -> dict[str, object]:
    """A trial as JSON-ready data, with nothing lost. Numbers that JSON does not have are texts."""
    data = {**vars(trial), "assignment": dict(trial.assignment), "readings": asdict(trial.readings)}
    return {name: plain(data[name]) for name in _IN_JSON}


def trial_from_json(data: Mapping[str, object]) -> Trial:
    """The trial again. Raises KeyError, TypeError or ValueError for other text than `trial_to_json`'s."""
    if data["outcome"] not in OUTCOMES:
        raise ValueError(f"unknown outcome {data['outcome']!r}")
    given = {name: data[name] for name in _IN_JSON} | {"assignment": assignment_of(data["assignment"])}
    return msgspec.convert(given, Trial, strict=False, from_attributes=True)


def comparison_from_json(data: Mapping[str, object]) -> Comparison:
    """A comparison from the output of `comparison_text`; fields of other versions are passed over."""
    return msgspec.convert(data, Comparison)


def comparison_text(comparison: Comparison) -> str:
    """A comparison as JSON."""
    return json.dumps(asdict(comparison))


def assignment_text(assignment: Assignment) -> str:
    """JSON, equal for equal assignments."""
    return json.dumps(dict(sorted(assignment.items())))


def assignment_of(data: object) -> Assignment:
    """An assignment from JSON-ready data. Raises TypeError for anything except an object of integers."""
    if not isinstance(data, dict):
        raise TypeError("the assignment is not an object")
    values = cast("dict[str, object]", data)
    if not all(type(value) is int for value in values.values()):
        raise TypeError("a knob's value is not an integer")
    return Assignment.of(cast("dict[str, int]", values))


def unpack_samples(packed: bytes) -> tuple[float, ...]:
    """Samples from a row: doubles, little-endian."""
    return struct.unpack(f"<{len(packed) // 8}d", packed)


def least(samples: Sequence[float]) -> float | None:
    """The least of some samples; None without any."""
    found = min(samples, default=math.nan)
    return None if math.isnan(found) else found


def real(value: float) -> float | str:
    """A number for a REAL column, where SQLite would turn what is no number into NULL."""
    return "nan" if math.isnan(value) else float(value)


def text(value: str) -> str:
    """Text that can be encoded: tools print bytes that are not UTF-8, which decode to lone surrogates."""
    return value.encode("utf-8", "backslashreplace").decode()


def number(value: object) -> float:
    """A float from JSON or a row. Raises TypeError for another value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def optional(value: object) -> float | None:
    """A float, or None."""
    return None if value is None else number(value)


def text_in(data: Mapping[str, object], name: str) -> str:
    """A text from JSON. Raises TypeError for another value."""
    value = data[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a text")
    return value


def plain(value: object) -> object:
    """A value with numbers that JSON does not have as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(name): plain(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in cast("Sequence[object]", value)]
    return value
