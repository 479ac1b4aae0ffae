"""House rules that a machine can check (CONTRIBUTING.md): sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "iree_tuner"
FILES = sorted(PACKAGE.rglob("*.py"))

FILE_LINES = 700
FUNCTION_LINES = 60


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Name and number of lines, without decorators, of each function, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_are_short() -> None:
    lines = {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}


def test_functions_are_short() -> None:
    trees = ((path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())) for path in FILES)
    found = ((name, *each) for name, tree in trees for each in functions(tree))
    assert [each for each in found if each[-1] > FUNCTION_LINES] == []
