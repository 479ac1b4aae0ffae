"""The package's modules with a statement before each of their own that notes its line: coverage for 3.11.

A tracing hook slows down each instruction of every library on Python 3.11, and what a killed process has
collected is lost. Here a statement sets a byte of a file that all processes map, and libraries run as they
are. A process sets it once: after that the statement only looks into a list, in a sixth of the time.
`in_every_process/sitecustomize.py` loads these modules; coverage.py makes the report.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

NOTES = "noted"
"""A byte a line, of all modules one after another."""

KNOWN, NOTE = "_iree_tuner_known_lines", "_iree_tuner_note_line"
"""Among the builtins: what this process has noted, and the function that notes a line."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file, and where its first line's byte is."""

    name: str
    path: Path
    first: int
    lines: int


def write(package: Path, folder: Path) -> list[Module]:
    """Make all modules of a package note their lines, as code objects in a folder."""
    modules: list[Module] = []
    first = 0
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        lines = path.read_text().count("\n") + 1
        modules.append(Module(name, path, first, lines))
        first += lines
    (folder / NOTES).write_bytes(bytes(first))
    with ProcessPoolExecutor() as processes:
        codes = processes.map(_code, modules, chunksize=16)
        for module, code in zip(modules, codes, strict=True):
            (folder / module.name).write_bytes(code)
    return modules


def read(modules: list[Module], folder: Path) -> dict[str, list[int]]:
    """The lines that ran, of each file's path."""
    noted = (folder / NOTES).read_bytes()
    return {
        str(each.path): [line + 1 for line in range(each.lines) if noted[each.first + line]]
        for each in modules
    }


def _code(module: Module) -> bytes:
    tree = ast.parse(module.path.read_bytes(), str(module.path))
    for node in list(ast.walk(tree)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                setattr(node, field, list(_noting(node, block, module.first)))
    return marshal.dumps(compile(tree, str(module.path), "exec", dont_inherit=True))


def _noting(owner: ast.AST, block: list[ast.stmt], first: int) -> Iterator[ast.stmt]:
    """A block whose statements are noted before they run, and with the first what led here."""
    lines: list[int] = []
    if isinstance(owner, ast.ExceptHandler):
        lines.append(owner.lineno)
    elif isinstance(owner, ast.match_case):
        lines.append(owner.pattern.lineno)
    for index, statement in enumerate(block):
        lines.append(statement.lineno)
        match statement:
            case ast.Expr(ast.Constant(str())) if index == 0:  # a docstring is the first
                yield statement
                continue
            case ast.ImportFrom("__future__"):
                yield statement
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                lines += [each.lineno for each in statement.decorator_list]
        for line in lines:
            yield _note(first + line - 1, statement)
        lines.clear()
        yield statement


def _note(index: int, at: ast.stmt) -> ast.stmt:
    """`if not KNOWN[index]: NOTE(index)`, which counts as a part of another statement."""
    there = {name: getattr(at, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    load, constant = ast.Load(), ast.Constant(index, **there)
    known = ast.Subscript(ast.Name(KNOWN, load, **there), constant, load, **there)
    noting = ast.Expr(ast.Call(ast.Name(NOTE, load, **there), [constant], [], **there), **there)
    return ast.If(ast.UnaryOp(ast.Not(), known, **there), [noting], [], **there)
