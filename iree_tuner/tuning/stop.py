"""Ctrl-C as a request to stop, not as an exception that may strike anywhere.

Raised in the middle of a destructor of a binding, a KeyboardInterrupt is printed and lost. So the first one
only sets a flag, which the loop looks at between candidates; the second one interrupts as usual.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self


class StopRequest:
    """Listens to SIGINT while it is entered, in the main thread; elsewhere it can only be set by hand."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: signal.Handlers | object = None
        self._listening = False

    def request(self) -> None:
        """Ask the loop to stop at the next candidate."""
        self.requested = True

    def __enter__(self) -> Self:
        self._listening = threading.current_thread() is threading.main_thread()
        if self._listening:
            self._previous = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listening:
            signal.signal(signal.SIGINT, self._previous)  # pyright: ignore[reportArgumentType]

    def _heard(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
