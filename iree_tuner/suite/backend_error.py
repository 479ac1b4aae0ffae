"""Why a back end did not do what it was asked for."""

from __future__ import annotations

from typing import Literal

Failure = Literal["cannot", "failed", "lost", "missing"]
"""As `row.State` has them."""


class BackendError(Exception):
    """A back end is missing, cannot do an operation, failed, or was lost with its host.

    Attributes:
        state: of the row that comes of it.
        message: why, in one line.
    """

    def __init__(self, state: Failure, message: str) -> None:
        super().__init__(state, message)  # so that it can be pickled
        self.state: Failure = state
        self.message = message

    def __str__(self) -> str:
        return self.message
