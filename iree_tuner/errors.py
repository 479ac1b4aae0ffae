"""Errors that a caller can correct, each with a message of one line.

Failures of candidates are values (`device.outcome.Outcome`). Exceptions are for mistakes of the caller, and
say how to correct them.
"""

from __future__ import annotations

from collections.abc import Collection


class TunerError(Exception):
    """A problem with the input or the result: a message of one line, with a location and a hint if known.

    The command line prints `error: LOCATION: MESSAGE (HINT)` and exits with status 1.
    """

    def __init__(self, message: str, *, location: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling between processes.
        return (_rebuild, (type(self), self.message, self.location, self.hint))


class UsageError(TunerError):
    """Wrong usage, such as an unknown device or an option out of range. The exit status is 2."""


def _rebuild(kind: type[TunerError], message: str, location: str | None, hint: str | None) -> TunerError:
    return kind(message, location=location, hint=hint)


def did_you_mean(name: str, known: Collection[str], most: int = 1) -> str:
    """The most similar known names, in any case, or all of them: a hint about a wrong name."""
    import difflib  # hardly ever needed

    every = {each.lower(): each for each in known}
    close = [every[each] for each in difflib.get_close_matches(name.lower(), every, most)]
    return f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"
