"""What a caller can get wrong, said in one line.

Failures of candidates are values (`execute.Outcome`); exceptions are for mistakes of the
caller, and each says what to do about it.
"""

from __future__ import annotations


class TunerError(Exception):
    """A problem with the input or the result, told in one line, with its location when there is one.

    The command line prints it as `error: LOCATION: MESSAGE (HINT)` and exits with 1.
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
    """The call itself is wrong (an unknown device, an option out of range); exit status 2."""


def _rebuild(kind: type[TunerError], message: str, location: str | None, hint: str | None) -> TunerError:
    return kind(message, location=location, hint=hint)
