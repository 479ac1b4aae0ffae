"""Ctrl-C as a request to stop, not as an exception that may strike anywhere.

Raised in the middle of a destructor of a binding, a KeyboardInterrupt is printed and lost. So the first one
only sets a flag, which the loop looks at between candidates; the second one interrupts as usual.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import FrameType
from typing import Self

from iree_tuner.compiler.worker import Calls

_AGAIN_S = 0.05


class StopRequest:
    """Listens to SIGINT while it is entered, in the main thread; elsewhere it can only be set by hand.

    Args:
        heard: called at once when a signal comes, within its handler: it may do no more than write a line.
    """

    def __init__(self, heard: Callable[[], None] | None = None) -> None:
        self.requested = False
        self._tell = heard
        self._pools: tuple[Calls, ...] = ()
        self._previous: signal.Handlers | object = None
        self._listening = False

    def request(self) -> None:
        """Ask the loop to stop at the next candidate."""
        self.requested = True
        if self._pools:  # not here: a handler may have come while this thread holds a lock of theirs
            threading.Thread(target=self._cancel, args=(self._pools,), daemon=True).start()

    @contextmanager
    def cancelling(self, *pools: Calls) -> Generator[None]:
        """Work that a request to stop ends at once: its calls are cancelled, and with them what waits."""
        self._pools = pools
        try:
            if self.requested:  # before
                self.request()
            yield
        except CancelledError:
            if not self.requested:
                raise
        finally:
            self._pools = ()

    def _cancel(self, pools: tuple[Calls, ...]) -> None:
        while self._pools is pools:  # what is under way may call once more before it waits
            for pool in pools:
                pool.cancel_all()
            time.sleep(_AGAIN_S)

    def __enter__(self) -> Self:
        self._listening = threading.current_thread() is threading.main_thread()
        if self._listening:
            self._previous = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listening:
            signal.signal(signal.SIGINT, self._previous)  # pyright: ignore[reportArgumentType]

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        if self._tell is not None:
            self._tell()
        self.request()
