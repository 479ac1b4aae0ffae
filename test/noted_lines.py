"""The package's modules with a statement before each of their own that notes its line: coverage for 3.11.

A tracing hook slows down each instruction of every library on Python 3.11, and what a killed process has
collected is lost. Here a statement sets a byte of a file that all processes map, and libraries run as they
are. A process sets it once: after that the statement only looks into a list, in a sixth of the time.
`in_every_process/sitecustomize.py` loads these modules; coverage.py shows the lines (`coverage html`).
"""

from __future__ import annotations

import ast
import gc
import marshal
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

NOTES = "noted"
"""A byte a line, of all modules one after another."""

NEW, NOTE = "_iree_tuner_new_lines", "_iree_tuner_note_line"
"""Among the builtins: what this process has not noted, and the function that notes lines."""

_LEFT_OUT = re.compile(
    r"#\s*pragma:\s*no cover|^\s*(((async )?def .*?)?[\])]+(\s*->.*?)?:\s*)?\.\.\.\s*(#|$)"
    r"|^\s*if (typing\.)?TYPE_CHECKING:"
)
"""A line whose statement coverage.py leaves out, with what belongs to it."""

_LOAD = ast.Load()


@dataclass(frozen=True, slots=True)
class Module:
    """One file, and where its first line's byte is."""

    name: str
    path: Path
    first: int
    lines: int


@dataclass(frozen=True, slots=True)
class Covered:
    """A file's lines that ran, and those that begin a statement, as coverage.py counts them."""

    ran: list[int]
    statements: list[int]


def write(package: Path, folder: Path) -> dict[Module, list[int]]:
    """Make all modules of a package note their lines, as code objects in a folder: each one's statements."""
    modules: list[Module] = []
    first = 0
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        lines = path.read_bytes().count(b"\n") + 1
        modules.append(Module(name, path, first, lines))
        first += lines
    (folder / NOTES).write_bytes(bytes(first))
    with ProcessPoolExecutor(initializer=gc.disable) as processes:
        made = list(processes.map(_code, modules, chunksize=16))
    for module, (code, _) in zip(modules, made, strict=True):
        (folder / module.name).write_bytes(code)
    return {module: statements for module, (_, statements) in zip(modules, made, strict=True)}


def read(modules: dict[Module, list[int]], folder: Path) -> dict[str, Covered]:
    """Each file by its path."""
    noted = (folder / NOTES).read_bytes()
    return {
        str(each.path): Covered(
            [line + 1 for line in range(each.lines) if noted[each.first + line]], statements
        )
        for each, statements in modules.items()
    }


def _code(module: Module) -> tuple[bytes, list[int]]:
    text = module.path.read_bytes()
    tree = ast.parse(text, str(module.path))
    lines = text.decode().splitlines()
    left_out = {number for number, line in enumerate(lines, 1) if _LEFT_OUT.search(line)}
    notes = _Notes(module.first, left_out)
    notes.within(tree, counted=True, in_function=False)
    return marshal.dumps(compile(tree, str(module.path), "exec", dont_inherit=True)), sorted(notes.statements)


class _Notes:
    """Puts notes into a module's blocks. Only statements have blocks: expressions are not looked at."""

    def __init__(self, first: int, left_out: set[int]) -> None:
        self.first = first
        self.left_out = left_out
        self.statements: set[int] = set()

    def within(self, owner: ast.AST, *, counted: bool, in_function: bool, outside: bool = True) -> None:
        """Note what is in a statement's blocks; `outside` is whether the statement's own block is counted."""
        for field in ("body", "orelse", "finalbody"):
            block = getattr(owner, field, None)
            if isinstance(block, list) and block:
                counts = counted if field == "body" else outside
                setattr(owner, field, list(self._block(owner, block, counts, in_function)))
        for field in ("handlers", "cases"):
            for part in getattr(owner, field, ()):
                self.within(part, counted=outside, in_function=in_function)

    def _block(
        self, owner: ast.AST, block: list[ast.stmt], counted: bool, in_function: bool
    ) -> Iterator[ast.stmt]:
        """Its statements, each noted before it runs, and with the first what led here."""
        lines: list[int] = []
        if isinstance(owner, ast.ExceptHandler):
            lines.append(owner.lineno)
        elif isinstance(owner, ast.match_case):
            lines.append(owner.pattern.lineno)
        if counted:
            self.statements.update(lines)
        for index, statement in enumerate(block):
            own = [statement.lineno]
            counts = counted and self._counts(statement)
            inner = in_function
            match statement:
                case ast.Expr(ast.Constant(str())) if index == 0:  # a docstring is the first
                    lines += own
                    yield statement
                    continue
                case ast.ImportFrom("__future__"):
                    lines += own
                    if counts:
                        self.statements.update(own)
                    yield statement
                    continue
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    own += [each.lineno for each in statement.decorator_list]
                    inner = not isinstance(statement, ast.ClassDef)
            if counts and not _is_no_code(statement, in_function):
                self.statements.update(own)
            lines += own
            self.within(statement, counted=counts, in_function=inner, outside=counted)
            if not in_function and _is_straight(statement):
                yield statement
                if index + 1 == len(block) or not _is_straight(block[index + 1]):
                    yield self._note(lines, statement)
                    lines.clear()
            else:
                yield self._note(lines, statement)
                lines.clear()
                yield statement

    def _note(self, lines: list[int], at: ast.stmt) -> ast.stmt:
        """`if NEW[index]: NOTE((index, ...))`, which counts as a part of another statement."""
        there = {
            "lineno": at.lineno,
            "col_offset": at.col_offset,
            "end_lineno": at.end_lineno,
            "end_col_offset": at.end_col_offset,
        }
        indices = tuple(self.first + line - 1 for line in lines)
        first, all_of_them = ast.Constant(indices[0], **there), ast.Constant(indices, **there)
        new = ast.Subscript(ast.Name(NEW, _LOAD, **there), first, _LOAD, **there)
        call = ast.Call(ast.Name(NOTE, _LOAD, **there), [all_of_them], [], **there)
        return ast.If(new, [ast.Expr(call, **there)], [], **there)

    def _counts(self, statement: ast.stmt) -> bool:
        """Whether no line of a statement's own, before its blocks, says that it is left out."""
        if not self.left_out:
            return True
        body = getattr(statement, "body", None)
        end = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
        return self.left_out.isdisjoint(range(statement.lineno, max(end, statement.lineno) + 1))


def _is_no_code(statement: ast.stmt, in_function: bool) -> bool:
    """Whether nothing is run for it, and it is noted with the next."""
    match statement:
        case ast.Global() | ast.Nonlocal():
            return True
        case ast.AnnAssign(value=None):
            return in_function
    return False


def _is_straight(statement: ast.stmt) -> bool:
    """Whether the next one follows. Of modules and classes these are noted together, after the last."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Assign() | ast.AnnAssign() | ast.Expr(ast.Constant()):
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return True
    return False
