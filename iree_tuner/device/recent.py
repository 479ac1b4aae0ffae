"""A cache of values that take long to make."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The last used of values that take long to make, up to so many bytes; the last one in any case."""

    def __init__(self) -> None:
        self._found: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K, size: int, most: int, make: Callable[[], V]) -> V:
        """The value of a key; a missing value is made."""
        if key not in self._found:
            while self._found and size + sum(each for _, each in self._found.values()) > most:
                self._found.popitem(last=False)
            self._found[key] = make(), size
        self._found.move_to_end(key)
        return self._found[key][0]

    def clear(self) -> None:
        """Let go of all."""
        self._found.clear()
