"""Make text safe to print on a terminal."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
_HIDDEN = ("Cc", "Cf", "Cs")  # control codes, what turns the direction of writing, halves of pairs


def printable(text: str) -> str:
    """Replace control codes, which could change the terminal: an escape code is shown as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if each in _KEPT or unicodedata.category(each) not in _HIDDEN else ascii(each)[1:-1]
        for each in text
    )
