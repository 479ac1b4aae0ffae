"""IR is objects (CONTRIBUTING.md). Where text becomes IR, or is asked of it, a comment says why.

`# IR as text: <reason>` counts for the statement that it is in or above, which may be a whole function.
`compiler/unbound.py` and files called `attributes.py` have what the compiler's bindings lack.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from house import sources

PARSED = re.compile(r"(Attribute|Type|Module|Operation|Affine\w+|IntegerSet)\.parse(File)?")
SEARCH = re.compile(r"(start|end)swith|remove\w+|r?partition|r?split|r?find|index|count|[lr]?strip|replace")


@cache
def ir_text():
    """Finds what gives away IR in strings. `_` stands for values that are put in."""
    tool = Path(sys.executable).parent / "iree-opt"
    shown = subprocess.run([tool, "--show-dialects"], capture_output=True, text=True, check=True).stdout
    names = "|".join(name.strip() for name in shown.partition(":")[2].split(","))
    return re.compile(
        rf"[#!]({names})\b|\b(tensor|memref|vector|complex|affine_\w+|dense\w*|array|strided)<|#_\.|#\w+<_"
        rf"|\b({names})\.[a-z_.]+\s*(<|\{{|\(|@|%|ins\b|private\b|public\b)|^\s*%\w+\s*=\s|\) -> \("
        r"|\bmodule\s*(@\w*\s*)?(attributes\s*)?\{", re.MULTILINE,
    ).search  # fmt: skip


def literal(node):
    """The constant parts of a string expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts) | ast.Tuple(elts=parts):
            return "".join(map(literal, parts))
    return literal(node.left) + literal(node.right) if isinstance(node, ast.BinOp) else "_"


def takes_text(node, handles_ir):
    """Whether text is parsed to IR, put together, or asked of what is printed (also by a pattern)."""

    def printed(each):
        is_str = handles_ir and getattr(getattr(each, "func", None), "id", "") == "str"
        return is_str and getattr(each.args[0], "id", "") not in ("error", "path", "source", "name")

    match node:
        case ast.Compare(left=left, ops=[operator, *_], comparators=others):
            shown = isinstance(operator, ast.In | ast.NotIn) and ir_text()(literal(left))
            return shown or (any(map(printed, (left, *others))) and {*map(literal, (left, *others))} != {"_"})
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=given):
            owner = getattr(base, "attr", getattr(base, "id", ""))
            given = re.sub(r"\(\?P?<?[=!]?", "", literal(given[0])) if given else ""
            shown = ir_text()(given.replace("\\", ""))
            if owner == "re":
                return shown or (handles_ir and re.search(r"[#!%<]| = ", given))
            put = name in ("format", "join") and ir_text()(literal(base))
            asked = SEARCH.fullmatch(name) and (shown or printed(base))
            return put or asked or PARSED.fullmatch(f"{owner}.{name}")
    return isinstance(node, ast.JoinedStr | ast.BinOp) and ir_text()(literal(node))


def faults(source, nodes=None):
    """Places without a comment, and comments without a place."""
    nodes, lines = nodes or list(ast.walk(ast.parse(source))), source.splitlines()
    handles_ir = "\nfrom iree.compiler" in source
    bare = {n.lineno: f"{n.lineno}: {ast.unparse(n)[:90]}" for n in nodes if takes_text(n, handles_ir)}
    found = list(bare.values())
    for number in (number for number, line in enumerate(lines) if re.search(r"# IR as text: \w", line)):
        start = next(at for at, line in enumerate(lines[number:], number + 1) if line.strip()[:1] not in "#")
        around = (n for n in nodes if isinstance(n, ast.stmt) and n.lineno <= start <= n.end_lineno)
        span = range(start, max(around, key=lambda node: node.lineno).end_lineno + 1)
        excused = [place for line, place in bare.items() if line in span]
        found = [place for place in found if place not in excused]
        found += [f"{number + 1}: not needed"] * (not excused)
    return found


def test_each_place_that_takes_text_for_ir_says_why():
    others = (file for file in sources() if not file.name.endswith(("compiler/unbound.py", "/attributes.py")))
    assert [f"{file.name}:{each}" for file in others for each in faults(file.text, file.nodes)] == []
    imports = "\nfrom iree.compiler import ir\n"
    for fault in ('f"!hal.{x}"', "ir.Type.parse(x)", "'A' in str(x)", "re.compile('= <x')", "str(x).split()"):
        assert len(faults(imports + fault)) == 1
        assert faults(f"{imports}# IR as text: reason\ndef f():\n    {fault}") == []
    for fine in ("json.parse(x)", "str(path) == x", "x.split('linalg.')", "re.sub('a', x)"):
        assert faults(imports + fine + "  # IR as text: reason") == ["3: not needed"]
