"""The observer of a run's progress."""

from __future__ import annotations

from typing import Protocol

from iree_tuner.suite.results import Row


class Watch(Protocol):
    """Called from several threads, one at a time."""

    def planned(self, operations: int) -> None:
        """So many operations are to be measured; known ones are not counted."""
        ...

    def working(self, device: str, what: str) -> None:
        """A device begins something that takes a while."""
        ...

    def noted(self, message: str) -> None:
        """Found out on the way."""
        ...

    def measured(self, row: Row) -> None:
        """A row was written."""
        ...

    def done(self, operation: str) -> None:
        """An operation has all its rows."""
        ...

    def stopping(self) -> None:
        """A signal asks the run to end. Called within its handler: do no more than write a line."""
        ...
