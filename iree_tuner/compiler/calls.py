"""Calls of functions that run elsewhere: in processes of this machine, or of others (`cluster`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self, TypeVar

from iree_tuner.compiler.ends import End, Ok, WorkerError
from iree_tuner.compiler.slot import Span

R = TypeVar("R")

TIMEOUT_S = 300.0


class SentPath(str):
    """The path of a file that a call reads: on another host it is a copy's."""

    __slots__ = ()


class WrittenPath(str):
    """The path of a small file that a call writes: what another host wrote comes back, also from a crash."""

    __slots__ = ()


class Calls(ABC):
    """Makes calls: processes on this machine, or a cluster."""

    @abstractmethod
    def submit(
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> Future[R]:
        """Run a module-level function in a worker. Its future ends as `end` and `wait` say.

        Cancelling it while it runs kills its worker. The limit counts from the begin of the call.
        """

    @abstractmethod
    def settle(self) -> None:
        """Wait until all calls that were submitted so far have ended."""

    @abstractmethod
    def cancel_all(self) -> None:
        """Cancel the calls that have not ended; workers with a running call are killed."""

    @property
    @abstractmethod
    def spans(self) -> tuple[Span, ...]:
        """The work of each worker with its times, ordered by the ends of calls."""

    @abstractmethod
    def close(self) -> None:
        """Stop the workers, busy ones too. Calls that did not end are cancelled."""

    @property
    def there(self) -> bool:
        """Whether a worker is free for a call now; else calls wait for their worker to come back."""
        return True

    def end(self, future: Future[R]) -> End[R]:
        """How a call ends; its exception, if it raised one.

        Raises:
            CancelledError: the future was cancelled, or the workers were closed.
        """
        try:
            return Ok(future.result())
        except WorkerError as error:
            return error.end

    def wait(self, future: Future[R]) -> R:
        """The call's value, or its exception.

        Raises:
            WorkerError: there is none.
            CancelledError: the future was cancelled, or the workers were closed.
        """
        return future.result()

    def call(
        self, function: Callable[..., R], *args: object, timeout_s: float = TIMEOUT_S, **kwargs: object
    ) -> R:
        """`submit` and `wait` in one."""
        return self.wait(self.submit(function, *args, timeout_s=timeout_s, **kwargs))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
