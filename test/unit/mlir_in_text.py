"""Finds where code takes IR for text: what is parsed, assembled, searched, or asked of a printed form."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

DIALECTS = (
    "affine", "amdgpu", "arith", "arm_neon", "arm_sme", "arm_sve", "bufferization", "builtin", "cf",
    "check", "chlo", "complex", "emitc", "flow", "func", "gpu", "hal", "hal_inline", "hal_loader",
    "io_parameters", "iree_codegen", "iree_cpu", "iree_encoding", "iree_gpu", "iree_linalg_ext",
    "iree_map", "iree_tensor_ext", "iree_vector_ext", "linalg", "llvm", "math", "memref", "ml_program",
    "nvgpu", "nvvm", "pcf", "pdl", "pdl_interp", "quant", "rocdl", "rocm", "scf", "shape", "smt",
    "spirv", "stablehlo", "stream", "tensor", "tm_tensor", "torch", "torch_c", "tosa", "transform",
    "ub", "util", "vector", "vhlo", "vm", "vmvx",
)  # fmt: skip
"""Namespaces of the compiler's dialects; a test compares them with what the compiler has."""

_NAMES = "|".join(DIALECTS)
_TYPES = "tensor|memref|vector|complex"
TEXT = re.compile(
    rf"[#!]({_NAMES})\b | \b({_TYPES}|affine_map|affine_set|dense|dense_resource|array|strided)<"
    rf"| \b({_NAMES})\.[a-z_.]+\s*(<|\{{|\(|@|%|ins\b|private\b|public\b) | ^\s*%\w+\s*=\s"
    rf"| \bmodule\s*(@\w*\s*)?(attributes\s*)?\{{ | ->\s*\( | \#_\.| \#\w+<_ ",
    re.VERBOSE | re.MULTILINE,
)
"""What gives away the printed form of IR. `_` stands for values that are put in."""

_PARSED = ("Attribute", "Type", "Module", "Operation", "AffineMap", "AffineExpr", "AffineSet", "IntegerSet")
_METHODS = ("format", "format_map", "join", "substitute", "safe_substitute")
_SEARCHES = (
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit",
    "find", "rfind", "index", "count", "strip", "lstrip", "rstrip", "replace", "splitlines",
)  # fmt: skip
_NO_IR = ("error", "path", "source")
"""Names of what is printed and is no IR: exceptions, files, arguments."""

_PATTERNS = ("compile", "search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn")
_ELEMENT = re.compile(r"(bf|tf|f|[su]?i)\d*(E\d+M\d+\w*)?")
_ELEMENT_PATTERN = re.compile(r"\bbf\||\|bf\b|\(f\||\[a-z\]\+\(\\d")
_MAP = re.compile(r"->|affine_map|(\\b|\b)d\(?\\d")
"""In patterns and in what is searched for: an indexing map, taken apart."""


@dataclass(frozen=True)
class Place:
    """A place in a file.

    Attributes:
        kind: `parse` (text becomes IR), `assemble` (a string that looks like IR is put together), `printed`
            (a printed form is asked), `search` (text of IR is), `pattern` (by a regular expression), `map`
            and `element` (text of an indexing map, or of an element type, is taken apart).
        line: its number.
        code: what is there.
    """

    kind: str
    line: int
    code: str


def places(tree: ast.Module) -> list[Place]:
    """All places in a file, each once. Constants of the file stand for their text wherever they are used."""
    tree = _with_constants(tree)
    nodes = list(ast.walk(tree))
    imported = (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))
    handles_ir = any(name.split(".")[:2] == ["iree", "compiler"] for name in imported)
    found = [
        Place(kind, node.lineno, ast.unparse(node)[:90])
        for node in nodes
        if isinstance(node, ast.expr)
        for kind in _kinds(node, handles_ir)
    ]
    functions = [node for node in nodes if handles_ir and isinstance(node, ast.FunctionDef)]
    found += [place for function in functions for place in _asked_later(function)]
    return list(dict.fromkeys(found))


def _with_constants(tree: ast.Module) -> ast.Module:
    texts = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and all(isinstance(each, ast.Constant | ast.Tuple | ast.Load) for each in ast.walk(node.value))
    }

    class Inlined(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            named = isinstance(node.ctx, ast.Load) and node.id in texts
            return ast.copy_location(texts[node.id], node) if named else node

    return Inlined().visit(tree)


def _kinds(node: ast.expr, handles_ir: bool) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute()):
            yield from _call(node, node.func, handles_ir)
        case ast.JoinedStr() | ast.BinOp(op=ast.Add() | ast.Mod()):
            if _is_text(literal(node)):
                yield "assemble"
        case ast.Compare():
            if handles_ir and any(map(_is_str, [node.left, *node.comparators])):
                yield "printed"
            elif isinstance(node.ops[0], ast.In | ast.NotIn) and _is_text(literal(node.left)):
                yield "search"
        case ast.Dict() if len(node.keys) > 2:
            keys = list(_constants(key for key in node.keys if key))
            widths = all(
                isinstance(each, ast.Constant) and isinstance(each.value, int) for each in node.values
            )
            if widths and len(keys) == len(node.keys) and all(map(_ELEMENT.fullmatch, keys)):
                yield "element"
        case _:
            pass


def _call(node: ast.Call, called: ast.Attribute, handles_ir: bool) -> Iterator[str]:
    name, base, texts = called.attr, called.value, list(_constants(node.args))
    owner = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
    if name in ("parse", "parseFile") and owner in _PARSED:
        yield "parse"
    if name in _METHODS and _is_text(literal(base)):
        yield "assemble"
    if owner == "re" and name in _PATTERNS:
        pattern = texts[0] if texts else ""
        if handles_ir or _is_text(pattern.replace("\\", "")):
            yield "pattern"
        if _MAP.search(pattern):
            yield "map"
        if _ELEMENT_PATTERN.search(pattern):
            yield "element"
    elif name in _SEARCHES:
        if any(map(_is_text, texts)):
            yield "search"
        if handles_ir and _is_str(base):
            yield "printed"
        if any(map(_MAP.search, texts)):
            yield "map"
        if name == "startswith" and texts and all(map(_ELEMENT.fullmatch, texts)):
            yield "element"


def _asked_later(scope: ast.FunctionDef) -> Iterator[Place]:
    """Where a name that holds a printed form is searched."""
    printed = {
        target.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and _is_str(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def held(node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in printed

    for node in ast.walk(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=base, attr=name)):
                asked = name in _SEARCHES and held(base)
            case ast.Compare():
                asked = any(map(held, [node.left, *node.comparators]))
            case _:
                continue
        if asked:
            yield Place("printed", node.lineno, ast.unparse(node)[:90])


def _is_text(text: str) -> bool:
    return TEXT.search(text) is not None


def _is_str(node: ast.expr) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"):
        return False
    (printed,) = node.args
    return not (isinstance(printed, ast.Name) and printed.id in _NO_IR)


def _constants(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """Strings among expressions, and in tuples of them."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Tuple):
            yield from _constants(node.elts)


def literal(node: ast.expr) -> str:
    """The constant parts of a string expression; `_` stands for each value put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return literal(node.value) if isinstance(node.value, ast.Constant) else "_"
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return "_"
