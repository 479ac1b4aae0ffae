"""Rooflines of GPUs, from `datasheets.json`, which says where each number comes from."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from iree_tuner.profiling.roofline import MemoryLevel, Roofline

_FILE = Path(__file__).with_name("datasheets.json")


def datasheet_roofline(device_name: str, cache_bytes: int) -> Roofline | None:
    """The roofline of a GPU by its name; None for one that is not in the table.

    Data sheets do not say how fast caches are: what fits in `cache_bytes` is bound by arithmetic alone.
    """
    for entry in _entries():
        if entry["name"] in device_name:
            flops = tuple((kind, value * 1e12) for kind, value in entry["tflops"].items())
            levels = (MemoryLevel(None, cache_bytes), MemoryLevel(entry["tbytes_per_s"] * 1e12))
            return Roofline(device_name, flops, levels, entry["source"])
    return None


@cache
def _entries() -> list[dict[str, Any]]:
    return json.loads(_FILE.read_text())["devices"]
