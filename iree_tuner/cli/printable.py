"""Text from others, as a terminal may see it."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
_HIDDEN = ("Cc", "Cf", "Cs")  # control codes, what turns the direction of writing, halves of pairs


def printable(text: str) -> str:
    """Text without what could change a terminal: an escape code in a name is shown as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if each in _KEPT or unicodedata.category(each) not in _HIDDEN else ascii(each)[1:-1]
        for each in text
    )
