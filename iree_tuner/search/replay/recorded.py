"""A recording as a space with known times."""

from __future__ import annotations

import gzip
import math
import statistics
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from iree_tuner.errors import TunerError
from iree_tuner.files import parse_json, read_bytes
from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.forest import Forest, guess
from iree_tuner.search.cost.landscape import Encoder
from iree_tuner.search.cost.terms import Array
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JOINED, SPACE, unnamed
from iree_tuner.store.recordings import FORM, workload_of
from iree_tuner.store.rows import OUTCOMES
from iree_tuner.targets import kind_named
from iree_tuner.targets import machine as machines
from iree_tuner.targets.machine import Machine

_NEIGHBORS = 8
_RAN = ("ok", "too_slow")

_FOREIGN = {
    "NVIDIA H200": Machine("gpu", "NVIDIA H200", 132, 16, 65536, 228 << 10, 0, 50 << 20),
}
"""Machines of recordings that do not say what they were: by the name of their device."""


@dataclass(frozen=True)
class Seen:
    """The result of a member that a strategy gets; see `search.strategy.Result`."""

    assignment: Assignment
    score: float


class RecordedSpace:
    """The members of a recording, as a landscape. Neighbors are the members that differ least."""

    def __init__(
        self, name: str, workload: Workload, encoder: Encoder, scores: Mapping[Assignment, float],
        times_us: Mapping[Assignment, float], default_us: float, start: Assignment | None = None,
    ) -> None:  # fmt: skip
        self.name = name  # of the workload
        self.workload = workload
        self.encoder, self.encode = encoder, encoder.encode
        self.features = encoder.features
        self.kind = encoder.kind
        # the first measured time relative to the default's; infinite for a member that did not run
        self.scores = scores
        self._nearest: dict[Assignment, list[Assignment]] = {}
        # the best known time: that of the second measurement, if there was one
        self.times_us = times_us
        self.default_us = default_us
        self.start = start
        self.prior: Forest | None = None

    @cached_property
    def members(self) -> tuple[Assignment, ...]:
        """Their order does not depend on the order of the file."""
        return tuple(sorted(self.scores, key=lambda member: member.items_))

    @cached_property
    def best_us(self) -> float:
        """Time of the best member."""
        return min(self.times_us.values())

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """Every member once."""
        order = np.random.default_rng(seed).permutation(len(self.members))
        return (self.members[place] for place in order)

    def staged(self, seed: int) -> Iterator[Assignment]:
        """As `shuffled`: a recording is a random sample, and hardly has two variants of one tile."""
        return self.shuffled(seed)

    def is_plain(self, assignment: Assignment) -> bool:
        """True: there are no stages here, see `staged`."""
        return True

    def neighbors(self, assignment: Assignment) -> list[Assignment]:
        """The nearest members, nearest first: by knobs, each a step of a factor of two."""
        if assignment not in self._nearest:
            distances = np.round(np.abs(self._knobs - self._row(assignment)).sum(axis=1), 6)
            order = np.argsort(distances, kind="stable")
            found = [self.members[place] for place in order[: _NEIGHBORS + 1]]
            self._nearest[assignment] = [member for member in found if member != assignment][:_NEIGHBORS]
        return list(self._nearest[assignment])

    def guess(self, rows: Array) -> Array | None:
        """By `prior`, which must not know this workload."""
        return None if self.prior is None else guess(self.prior, self.features, rows)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted({name for member in self.members for name in member}))

    @cached_property
    def _knobs(self) -> Array:
        return np.stack([self._row(member) for member in self.members])

    def _row(self, assignment: Assignment) -> Array:
        values = [assignment.get(name, 0) * (8 if name == SPACE else 1) for name in self._names]
        return np.log2(1.0 + np.array(values, float))


def read_recording(path: Path) -> RecordedSpace:
    """Read a recording, compressed or not. Raises TunerError for another file."""
    try:
        data = read_bytes(path)
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        numbered = enumerate(text.splitlines(), start=1)
        lines: list[Any] = [parse_json(line, f"{path}:{at}") for at, line in numbered if line.strip()]
        if not lines or not isinstance(lines[0], dict) or "recording" not in lines[0]:
            raise ValueError("the first line is not the header of a recording")
        if lines[0]["recording"] != FORM:
            raise ValueError(f"version {lines[0]['recording']!r} of the format is unknown")
        return _space(lines[0], lines[1:], path)
    except OSError as error:  # of what was compressed
        raise TunerError(f"not a recording: {error}", location=str(path)) from None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, zlib.error) as error:
        raise TunerError(f"not a recording: {error}", location=str(path)) from None


def find_recordings(paths: Sequence[Path]) -> list[Path]:
    """Files, and those in folders, each once, sorted. Raises TunerError for a folder without any."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = [each for each in path.rglob("*.jsonl*") if each.is_file()] if path.is_dir() else [path]
        if not inside:
            raise TunerError("no recordings", location=str(path))
        found.update(dict.fromkeys(sorted(inside)))
    return list(found)


def _space(header: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], path: Path) -> RecordedSpace:
    workload = workload_of(header)
    if "machine" in header:
        machine = machines.from_json(cast("Mapping[str, object]", header["machine"]))
    else:
        is_gpu = kind_named(header["target"].partition(":")[0]).is_gpu
        machine = _FOREIGN.get(header["device"], Machine("gpu" if is_gpu else "cpu"))
    default = next((line for line in lines if line["pipeline"] is None), None)
    if default is None:
        raise ValueError("the line of the default is missing")
    candidates = [line for line in lines if line["pipeline"] is not None]
    labels = _labels(header, candidates)
    scores: dict[Assignment, float] = {}
    times: dict[Assignment, float] = {}
    # The usual ratio of a second measurement to the first, by which all times are made comparable.
    both = [_time(line, "again_us") / _time(line, "min_us") for line in candidates if "again_us" in line]
    factor = statistics.median(both) if both else 1.0
    for line in candidates:
        if line["outcome"] not in OUTCOMES:
            raise ValueError(f"unknown outcome {line['outcome']!r}")
        member = _member(line, labels)
        scores[member] = math.inf
        if line["outcome"] in _RAN and line.get("min_us") is not None:
            scores[member] = _time(line, "min_us") / _time(line, "default_us", _time(default, "min_us"))
            times[member] = _time(line, "again_us", _time(line, "min_us") * factor)
    if not times:
        raise ValueError("no candidate ran")
    names = tuple(dict.fromkeys(name for member in sorted(scores, key=lambda m: m.items_) for name in member))
    encoder = Encoder(workload, JOINED.join(labels), names, machine)
    default_us = _time(default, "again_us", _time(default, "min_us") * factor)
    name = path.name.partition(".jsonl")[0]
    start = _member(header["start"], labels) if "start" in header else None
    return RecordedSpace(name, workload, encoder, scores, times, default_us, start)


def _member(line: Mapping[str, Any], labels: Sequence[str]) -> Assignment:
    knobs: dict[str, int] = {}
    for name, value in line["knobs"].items():
        if type(value) is not int:
            raise TypeError(f"the knob {name} is not an integer")
        knobs[name] = value
    return unnamed(line["pipeline"], knobs, JOINED.join(labels))


def _time(line: Mapping[str, Any], name: str, otherwise: float | None = None) -> float:
    """Microseconds; `otherwise` if missing. Raises ValueError if it is not a time."""
    value = line.get(name)
    if value is None and otherwise is not None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name} is not a time")
    return float(value)


def _labels(header: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    if "study" in header:
        return str(header["study"]["space_label"]).split(JOINED)
    labels = {line["pipeline"] for line in candidates}
    if not all(isinstance(label, str) for label in labels):
        raise TypeError("a pipeline is not a text")
    return sorted(labels)
