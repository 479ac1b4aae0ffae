"""A profile by kind of layer, next to other runtimes' profiles of the same model."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iree_tuner.profiling.attribution import quieter
from iree_tuner.profiling.profile import Profile, ProfileRow

PRODUCT, POINTWISE, CONVOLUTION = "products", "1x1 convolutions", "other convolutions"
DEPTHWISE, ATTENTION, REDUCTION = "depthwise convolutions", "fused attention", "softmax, norms, reductions"
ELEMENTWISE, COPY, BETWEEN = "elementwise", "copies and layouts", "between"
ARITHMETIC = (PRODUCT, POINTWISE, CONVOLUTION, DEPTHWISE)
KINDS = (*ARITHMETIC, ATTENTION, REDUCTION, ELEMENTWISE, COPY, BETWEEN)
"""In the order of tables."""

KERNEL = "kernel: "
"""The beginning of a row's note: an external kernel for the problem that follows."""

_NAMED = (  # of a dispatch or a problem: the first that fits
    (r"depthwise_conv", DEPTHWISE),
    (r"attention_", ATTENTION),
    (r"conv", CONVOLUTION),
    (r"matmul|vecmat|matvec|mmt4d|contraction|^dot|joint", PRODUCT),
    (r"softmax|norm|reduction|pool|reduce|argmax", REDUCTION),
    (r"transpose|pack|copy|memcpy|broadcast|pad|slice|gather|concat|reshape", COPY),
)
_SIZES = re.compile(r"(?:^|_)(\d+(?:x\d+)+)")
_WARM_UP, _LEAST_RUNS, _SECONDS = 3, 10, 3.0


@dataclass(frozen=True)
class OtherProfile:
    """A model in another runtime."""

    runtime: str
    version: str
    whole_us: float  # time of one run without profiling: the mean of the quietest quarter of its samples
    kinds_us: Mapping[str, float]  # time of a profiled run by kind of layer


@dataclass(frozen=True)
class KindTimes:
    """A kind of layer in all profiles."""

    kind: str  # one of `KINDS`
    time_us: float  # in one invocation
    flops: float  # of products and convolutions; 0 for other kinds
    others_us: Mapping[str, float]  # in one run of each other runtime, by its name


def by_kind(profile: Profile, others: Sequence[OtherProfile]) -> list[KindTimes]:
    """Sum up all profiles by kind of layer, in the order of `KINDS`, without empty kinds."""
    own: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    flops: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    for row in profile.rows:
        kind = kind_of(row)
        own[kind] += row.time_us
        if kind in ARITHMETIC:
            sizes = _sizes(_described(row))
            flops[kind] += row.flops or (2.0 * row.calls * math.prod(sizes) if sizes else 0.0)
    found: list[KindTimes] = []
    for each in KINDS:
        others_us = {other.runtime: other.kinds_us.get(each, 0.0) for other in others}
        if own[each] or any(others_us.values()):
            found.append(KindTimes(each, own[each], flops[each], others_us))
    return found


def kind_of(row: ProfileRow) -> str:
    """The kind of layer that a row of a profile belongs to, from the name of its workload or problem."""
    if row.kind != "dispatch":
        return COPY if row.kind == "transfer" else BETWEEN
    name = _described(row)
    found = next((kind for pattern, kind in _NAMED if re.search(pattern, name)), ELEMENTWISE)
    return POINTWISE if found == CONVOLUTION and _window(name) == 1 else found


def _described(row: ProfileRow) -> str:
    if row.note.startswith(KERNEL):
        return row.note.removeprefix(KERNEL)
    return row.workload_name or re.sub(r"^.*_dispatch_\d+_", "", row.name)


def _window(name: str) -> int:
    """The size of a 2-D convolution's window, from its loops: channels last, or channels first."""
    sizes = _sizes(name)
    if len(sizes) < 7:
        return 0
    return sizes[4] if sizes[4] == sizes[5] else sizes[5]


def _sizes(name: str) -> tuple[int, ...]:
    found = _SIZES.search(name)
    return tuple(map(int, found[1].split("x"))) if found else ()


def samples_of(run: Callable[[], object]) -> list[float]:
    """Microseconds of runs, for a few seconds, after some that do not count."""
    samples: list[float] = []
    deadline = time.perf_counter() + _SECONDS
    while len(samples) < _WARM_UP + _LEAST_RUNS or time.perf_counter() < deadline:
        start = time.perf_counter()
        run()
        samples.append((time.perf_counter() - start) * 1e6)
    return samples[_WARM_UP:]


def quiet(samples: Sequence[float]) -> float:
    """The mean of the quietest quarter of samples."""
    return statistics.fmean(quieter(samples, float))
