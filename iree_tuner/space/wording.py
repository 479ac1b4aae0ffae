"""Conditions of a constraints op as people write them: `wg_0 * wg_1 <= 512`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iree_tuner.space.interpreter import Node

_LONGEST = 160  # characters: longer messages are not read
_MOST_PARTS = 500  # a shared part is written each time

_INFIX = {
    "smt.int.mul": ("*", 7), "smt.int.div": ("/", 7), "smt.int.mod": ("%", 7), "smt.int.add": ("+", 6),
    "smt.int.sub": ("-", 6), "smt.int.cmp": ("", 5), "smt.eq": ("==", 5), "smt.and": ("and", 3),
    "smt.xor": ("xor", 2), "smt.or": ("or", 2), "smt.implies": ("->", 1),
}  # fmt: skip
_COMPARED = ("<", "<=", ">", ">=")
_ATOM, _NOT = 9, 4


def worded(condition: Node) -> str:
    """A condition with the names of its variables; cut where it is long."""
    if _parts(condition, {}) > _MOST_PARTS:
        return "a condition that is too long to show"
    text, _ = _written(condition)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def _parts(node: Node, known: dict[Node, int]) -> int:
    if node not in known:
        known[node] = 1 + sum(_parts(operand, known) for operand in node.operands)
    return known[node]


def _written(node: Node) -> tuple[str, int]:
    """The text, and how strongly its parts hold together."""
    match node.kind:
        case "variable":
            return str(node.data), _ATOM
        case "constant":
            return (str(node.data).lower() if isinstance(node.data, bool) else str(node.data)), _ATOM
        case "smt.not":
            return f"not {_inside(node.operands[0], _NOT)}", _NOT
        case "smt.or" if (found := _membership(node)) is not None:
            return found, 5
        case kind if kind in _INFIX:
            sign, strength = _INFIX[kind]
            sign = _COMPARED[node.data] if kind == "smt.int.cmp" else sign
            # The first part may be as weak as the whole: a - b - c, but a - (b - c).
            first, *others = node.operands
            parts = [_inside(first, strength), *(_inside(each, strength + 1) for each in others)]
            return f" {sign} ".join(parts), strength
        case kind:
            name = {"smt.ite": "if", "iree_codegen.smt.lookup": "lookup"}.get(kind, kind.rpartition(".")[2])
            arguments = [_written(each)[0] for each in node.operands]
            if node.data is not None:
                arguments.append(str(list(node.data[1])))
            return f"{name}({', '.join(arguments)})", _ATOM


def _inside(node: Node, least: int) -> str:
    text, strength = _written(node)
    return text if strength >= least else f"({text})"


def _membership(node: Node) -> str | None:
    """`x in {1, 2}`, for a disjunction of equalities of one thing with constants."""
    pairs = [each.operands for each in node.operands if each.kind == "smt.eq" and len(each.operands) == 2]
    if len(pairs) < max(2, len(node.operands)) or any(right.kind != "constant" for _, right in pairs):
        return None
    if any(left is not pairs[0][0] for left, _ in pairs):
        return None
    return f"{_inside(pairs[0][0], 6)} in {{{', '.join(str(right.data) for _, right in pairs)}}}"
