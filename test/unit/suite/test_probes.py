"""What a device could do is the best that any back end showed."""

from __future__ import annotations

import numpy as np
import pytest

from iree_tuner.profiling.roofline import MemoryLevel, Roofline
from iree_tuner.suite.plan import Item
from iree_tuner.suite.results import Row
from iree_tuner.suite.session import measured_roofline, probes
from iree_tuner.suite.site import Device, DeviceAddress
from iree_tuner.targets import target_for_device

KNOWN = Roofline("host", (("f32", 1e9), ("i8", 7e9)), (MemoryLevel(5e9, 1 << 20), MemoryLevel(1e9)))


def device(known: Roofline | None) -> Device:
    return Device(
        DeviceAddress("local-task"), target_for_device("local-task"), "host", 1 << 20, roofline=known
    )


def rows(item: Item) -> list[Row]:
    """Two back ends, of which another is the better for products and for the stream, and one that fails."""
    kind = item.operation.kind
    compute_type = item.operation.compute_type if kind == "matmul" else ""
    times = {"slow": 1000.0, "fast": 500.0} if kind == "matmul" else {"slow": 100.0, "fast": 400.0}
    made = [
        Row(
            item.operation.name, kind, {}, backend, time_us=time, flops=4e9, bytes=2e6,
            compute_type=compute_type,
        )
        for backend, time in times.items()
    ]  # fmt: skip
    return [*made, Row(item.operation.name, kind, {}, "absent", state="missing", flops=1e15)]


def test_each_type_is_probed_once_and_floats_always() -> None:
    found = probes(["f16", "f16", "f32"], on_host=True)
    assert [each.kind for each in found] == ["matmul", "matmul", "elementwise"]
    assert [each.compute_type for each in found[:2]] == ["f32", "f16"]
    large = probes([], on_host=False)
    assert large[0].flops > 50 * found[0].flops


def test_the_best_of_all_back_ends_counts() -> None:
    made = measured_roofline(device(KNOWN), ["f16"], rows)
    assert dict(made.flops_per_s) == {"f32": pytest.approx(8e12), "f16": pytest.approx(8e12), "i8": 7e9}
    near, far = made.levels
    assert near == KNOWN.levels[0]
    assert far.bytes_per_s == pytest.approx(2e10)
    assert made.how.endswith("the best of fast, slow")
    assert np.datetime64(dict(made.conditions)["date"]) > np.datetime64("2020-01-01")


@pytest.mark.parametrize("known", [KNOWN, None], ids=["known", "unknown"])
def test_where_no_stream_ran_the_memory_is_what_was_known(known: Roofline | None) -> None:
    def products(item: Item) -> list[Row]:
        return rows(item) if item.operation.kind == "matmul" else []

    made = measured_roofline(device(known), [], products)
    if known is None:
        (cache,) = made.levels
        assert cache.bytes_per_s is None
        assert cache.capacity_bytes
    else:
        assert made.levels == known.levels
