"""The limits of a device, measured by the back ends of a run: large products of each type, and a stream.

The best of all back ends counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from iree_tuner.profiling.roofline import MemoryLevel, Roofline
from iree_tuner.suite.kinds.elementwise import Elementwise
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import Item
from iree_tuner.suite.results import Row
from iree_tuner.suite.site import Device
from iree_tuner.targets import on_host

_HOST_SIDE, _GPU_SIDE = 1024, 4096
_HOST_ROWS, _GPU_ROWS = 2048, 16384
_COLUMNS = 4096
_LEAST = "f32"

Measure = Callable[[Item], Iterable[Row]]


def probes(compute_types: Iterable[str], *, on_host: bool) -> list[Operation]:
    """A product of each type and a sum of two long vectors: large enough for the device, or for the host."""
    side, rows = (_HOST_SIDE, _HOST_ROWS) if on_host else (_GPU_SIDE, _GPU_ROWS)
    products = [
        Matmul(m=side, n=side, k=side, layout="tn", **Matmul.of_type(kind))  # pyright: ignore[reportArgumentType]
        for kind in dict.fromkeys([_LEAST, *compute_types])
    ]
    return [*products, Elementwise(chain="add", rows=rows, columns=_COLUMNS)]


def measured_roofline(device: Device, compute_types: Iterable[str], measure: Measure) -> Roofline:
    """The best that was measured of each probe.

    Args:
        device: its known roofline has its caches, and the types that no back end computes.
        compute_types: of the operations of a run.
        measure: rows of an operation, of all back ends.
    """
    known, host = device.roofline, on_host(device.place.uri)
    rows = [row for each in probes(compute_types, on_host=host) for row in measure(Item(each))]
    ran = [row for row in rows if row.time_us]
    peaks = dict(known.flops_per_s) if known and host else {}
    for row in ran:
        if row.kind == Matmul.kind and row.gflops:
            peaks[row.compute_type] = max(peaks.get(row.compute_type, 0.0), row.gflops * 1e9)
    stream = max(
        (row.gbytes * 1e9 for row in ran if row.kind == Elementwise.kind and row.gbytes), default=None
    )
    levels = _levels(device, known, stream)
    best = sorted({row.backend for row in ran})
    how = f"measured with matrix products and a memory stream, the best of {', '.join(best)}"
    today = datetime.now(UTC).date().isoformat()
    return Roofline(device.name, tuple(sorted(peaks.items())), levels, how, conditions=(("date", today),))


def _levels(device: Device, known: Roofline | None, stream: float | None) -> tuple[MemoryLevel, ...]:
    """The known caches, and the measured memory."""
    near = known.levels[:-1] if known else (MemoryLevel(None, device.last_level_bytes),)
    if stream is None:
        return (*near, known.levels[-1]) if known else near
    return (*near, MemoryLevel(stream))
