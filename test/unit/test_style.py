"""House rules that a machine can check (CONTRIBUTING.md): sizes, and no MLIR assembled from strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "iree_tuner"
FILES = sorted(PACKAGE.rglob("*.py"))

FILE_LINES = 400
FUNCTION_LINES = 60

MLIR = re.compile(
    r"""\bfunc\.func\s+(@|private|public)
      | \bbuiltin\.module\s*\{ | \bmodule\s*(@\w*\s*)?(attributes\s*)?\{
      | \btransform\.(named_sequence|foreach_match|yield|annotate|param\.constant|iree\.match\.\w+)
      | \blinalg\.\w+\s*(\{[^}]*\}\s*)?ins\b | \biree_linalg_ext\.\w+\s*(\{[^}]*\}\s*)?ins\b
      | \#iree_(gpu|codegen)\. | \btensor<.*> | ^\s*%\w+\s*=\s""",
    re.VERBOSE | re.MULTILINE,
)
"""What gives away MLIR text. Printing a type in a message is not caught unless the text around it is MLIR."""


METHODS = ("format", "format_map", "join", "substitute")


PARSED_IN_ONE_PLACE = {
    "#iree_codegen.smt.int_knob<": "space/constraints.py",
    "#iree_codegen.smt.one_of_knob<": "space/constraints.py",
    "#iree_codegen.lowering_config<": "space/spirv/attributes.py",
    "#iree_gpu.scaled_mma_layout<": "space/gpu/scaled.py",
    "!iree_tensor_ext.dispatch.tensor<": "program/dump_body.py",
}
"""Attributes and types without a builder in Python, and the one file that parses each (and says so)."""


def assembled(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string that is put together: f-strings, `+`, `%`, format, join."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, literal(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            yield node.lineno, literal(node.left) + literal(node.right)
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
        ):
            yield node.lineno, literal(node.func.value)


def literal(node: ast.expr) -> str:
    """The constant parts of a string expression; `_` stands for each value put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    return "_"


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Name and number of lines, without decorators, of each function, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


TREES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text()) for path in FILES}


def test_files_are_short() -> None:
    lines = {name: len((PACKAGE / name).read_text().splitlines()) for name in TREES}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}


def test_functions_are_short() -> None:
    found = ((name, *each) for name, tree in TREES.items() for each in functions(tree))
    assert [each for each in found if each[-1] > FUNCTION_LINES] == []


def test_no_mlir_is_assembled_from_strings() -> None:
    found: list[str] = []
    for name, tree in TREES.items():
        allowed = tuple(start for start, home in PARSED_IN_ONE_PLACE.items() if home == name)
        for line, text in assembled(tree):
            if MLIR.search(text) and not (allowed and text.startswith(allowed)):
                found.append(f"{name}:{line}: {text!r}")
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'f"func.func @{name}() {{"',
        '"transform.named_sequence @%s" % name',
        '"linalg.matmul ins(" + operands',
        '"#iree_gpu.lowering_config<{}>".format(text)',
        'f"tensor<{shape}x{element}>"',
        'f"%{i} = arith.addf"',
    ],
)
def test_assembled_mlir_is_found(source: str) -> None:
    assert any(MLIR.search(text) for _, text in assembled(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        '"func.func"',
        'f"no op named linalg.{name} in the program"',
        'f"builtin.module(func.func({passes}))"',
        'f"the {name} module has no functions"',
        'f"{count} % = {total}"',
    ],
)
def test_other_strings_are_not(source: str) -> None:
    assert not any(MLIR.search(text) for _, text in assembled(ast.parse(source)))
