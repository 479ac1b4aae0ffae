"""House rules that a machine can check (CONTRIBUTING.md): sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from house import sources

FILE_LINES = 700
FUNCTION_LINES = 60


def functions(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Name and number of lines, without decorators, of each function, nested ones too."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_are_short() -> None:
    lines = {each.name: len(each.text.splitlines()) for each in sources()}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}


def test_functions_are_short() -> None:
    found = ((file.name, *each) for file in sources() for each in functions(file.nodes))
    assert [each for each in found if each[-1] > FUNCTION_LINES] == []
