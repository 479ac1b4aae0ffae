"""The package's files, for tests that look at all of them: read and parsed once in a process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[2] / "iree_tuner"


class Source(NamedTuple):
    """A file.

    Attributes:
        name: its path in the package.
        nodes: all of its syntax tree, the module first. They belong to all tests: nobody changes them.
    """

    name: str
    path: Path
    text: str
    nodes: tuple[ast.AST, ...]


@cache
def sources() -> tuple[Source, ...]:
    """All files, by path."""
    gc.disable()  # it would look again and again at what stays
    try:
        return tuple(map(_source, sorted(PACKAGE.rglob("*.py"))))
    finally:
        gc.freeze()
        gc.enable()


def _source(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(path.relative_to(PACKAGE).as_posix(), path, text, tuple(ast.walk(ast.parse(text))))
