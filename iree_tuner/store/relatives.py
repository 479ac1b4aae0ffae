"""Results for similar workloads: the same op and types, in sizes that are near."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from iree_tuner.measure.setting import Setting
from iree_tuner.measure.trial import Trial
from iree_tuner.ops.workload import Workload
from iree_tuner.store.failure import stored
from iree_tuner.store.store import Store
from iree_tuner.store.study import StudyKey, from_json

_OTHER_TARGET = 4.0  # up to sizes that differ by a factor of 16
_OTHER_PROCESSOR = 1.0
_OTHER_RELEASE = 0.25


@dataclass(frozen=True)
class Relative:
    """A study of a workload like the one that was asked for.

    Attributes:
        key: what was measured.
        distance: how unlike it is; 0 for the same workload under the same setting.
        best: its best trials, the fastest first, one for each executable.
    """

    key: StudyKey
    distance: float
    best: tuple[Trial, ...]


def relatives(store: Store, key: StudyKey, studies: int, trials: int) -> list[Relative]:
    """The nearest studies that have something better than the default, at most `studies` of them.

    Those whose trials may stand for the key's own are left out: a run takes them as its own.
    """
    found = [
        (distance, other, number)
        for number, other in _studies(store)
        if other.digest != key.digest and (distance := _distance(key, other)) is not None
    ]
    nearest: list[Relative] = []
    for distance, other, number in sorted(found, key=lambda each: (each[0], each[1].digest)):
        best = _best(store, number, trials)
        if best:
            nearest.append(Relative(other, distance, best))
        if len(nearest) == studies:
            break
    return nearest


def _studies(store: Store) -> Iterator[tuple[int, StudyKey]]:
    for row in store.read("SELECT id, key FROM studies ORDER BY digest"):
        yield row["id"], stored(row["key"], from_json)


def _distance(key: StudyKey, other: StudyKey) -> float | None:
    """None for a workload of another kind, or a space with other knobs."""
    if other.space_label != key.space_label or _kind(other.workload) != _kind(key.workload):
        return None
    pairs = zip(key.workload.loops, other.workload.loops, strict=True)
    sizes = sum(abs(math.log2(max(1, one) / max(1, two))) for one, two in pairs)
    return sizes + _setting_distance(key.setting, other.setting)


def _setting_distance(one: Setting, two: Setting) -> float:
    return (
        _OTHER_TARGET * (one.target != two.target or one.device != two.device)
        + _OTHER_PROCESSOR * (one.processor != two.processor)
        + _OTHER_RELEASE * (one.compiler != two.compiler)
    )


def _kind(workload: Workload) -> Workload:
    """The workload without its sizes."""
    loops = tuple(0 for _ in workload.loops)
    companions = tuple(replace(each, loops=tuple(0 for _ in each.loops)) for each in workload.companions)
    return replace(workload, loops=loops, companions=companions, dag="", dynamic=())


def _best(store: Store, number: int, count: int) -> tuple[Trial, ...]:
    ran = [trial for trial in store.trials(number).values() if trial.outcome == "ok" and trial.score < 1.0]
    distinct: dict[str, Trial] = {}
    for trial in sorted(ran, key=lambda each: (each.score, each.assignment.items_)):
        distinct.setdefault(trial.digest or str(trial.assignment), trial)
    return tuple(distinct.values())[:count]
