"""Workloads by hand, of element types and maps in MLIR's syntax, as databases and recordings hold them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import Iterator, Workload


def named(*names: str) -> tuple[ElementType, ...]:
    """Element types by name."""
    return tuple(map(ElementType.named, names))


def mapped(*maps: str) -> tuple[IndexingMap, ...]:
    """Indexing maps by their text."""
    return tuple(map(IndexingMap.parse, maps))


def workload(
    family: str,
    op: str,
    loops: tuple[int, ...],
    iterators: tuple[Iterator, ...],
    types: Iterable[str],
    maps: Iterable[str],
    *roles: Any,
    **more: Any,
) -> Workload:
    """A workload of texts; all that follows the maps is as in `Workload`."""
    return Workload(family, op, loops, iterators, named(*types), mapped(*maps), *roles, **more)
