"""Defects for whole programs: edits of dispatches, as text, at phase `flow`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODELS = Path(__file__).parent / "models"
_EXECUTABLE = re.compile(r"^  flow\.executable private @.*?^  }$", re.M | re.S)
_EXPORT = re.compile(r"flow\.executable\.export public @(\w+)")
_STORE = re.compile(r"( *)iree_tensor_ext\.dispatch\.tensor\.store (%\w+), (.*?) : tensor<([^>]*)> ->")
_PRODUCT = r"linalg\.matmul ins\((%\w+), (%\w+) : tensor<(\w+)x(\w+)x(\w+)>, tensor<(\w+)x(\w+)x(\w+)>\)"


@dataclass(frozen=True)
class Planted:
    """A defect.

    Attributes:
        what: it is.
        model: the program, in `models/`.
        where: part of the export's name.
        edit: of the executable's text.
    """

    what: str
    model: str
    where: str
    edit: Callable[[str], str]

    def __str__(self) -> str:
        return f"{self.what}-{self.model}"

    def put_into(self, text):
        """The program's text with the defect, and the export that has it."""
        for match in _EXECUTABLE.finditer(text):
            export = _EXPORT.search(match[0])[1]
            if self.where in export:
                changed = self.edit(match[0])
                assert changed != match[0], "the defect changes nothing"
                return text[: match.start()] + changed + text[match.end() :], export
        raise AssertionError(f"no dispatch is called {self.where}")


def swap(old, new):
    return lambda text: re.sub(old, new, text, count=1)


def kept(sizes, first=None):
    """Only a part of the result is written."""

    def edit(text):
        indent, value, rest, kind = _STORE.search(text).groups()
        full = kind.split("x")[:-1]
        element, zeros, ones = kind.split("x")[-1], ["0"] * len(full), ["1"] * len(full)
        part = "x".join((*map(str, sizes), element))
        cut = (
            f"{indent}%kept = tensor.extract_slice {value}[{', '.join(zeros)}] {sizes} "
            f"[{', '.join(ones)}] : tensor<{kind}> to tensor<{part}>\n"
        )
        where = ", ".join(map(str, first or zeros))
        told = re.sub(
            r"offsets = \[[^\]]*\], sizes = \[[^\]]*\]", f"offsets = [{where}], sizes = {sizes}", rest
        )
        new = f"{cut}{indent}iree_tensor_ext.dispatch.tensor.store %kept, {told} : tensor<{part}> ->"
        return _STORE.sub(lambda _: new, text, count=1)

    return edit


def next_head(text):
    """A transpose to heads that takes the next one each time."""
    source = re.search(r"ins\((%\w+) : tensor<40x3x16xf32>\)", text)[1]
    body = re.search(r"( *)\^bb0\(%in: f32, %out: f\d+\):\n", text)
    indent = body[1] + "  "
    new = (
        f"{indent}%one = arith.constant 1 : index\n{indent}%three = arith.constant 3 : index\n"
        f"{indent}%i = linalg.index 0 : index\n{indent}%h = linalg.index 1 : index\n"
        f"{indent}%k = linalg.index 2 : index\n{indent}%more = arith.addi %h, %one : index\n"
        f"{indent}%next = arith.remui %more, %three : index\n"
        f"{indent}%taken = tensor.extract {source}[%i, %next, %k] : tensor<40x3x16xf32>\n"
    )
    rest = re.sub(r"%in\b", "%taken", text[body.end() :], count=1)
    return text[: body.end()] + new + rest


def one_short(text):
    """A product that leaves out the last of what it sums."""
    match = re.search(rf"^( *)(%\w+ = ){_PRODUCT}", text, re.M)
    indent, made, a, b, m, k, ta, _, n, tb = match.groups()
    less = int(k) - 1
    new = (
        f"{indent}%a = tensor.extract_slice {a}[0, 0] [{m}, {less}] [1, 1] : tensor<{m}x{k}x{ta}> to "
        f"tensor<{m}x{less}x{ta}>\n"
        f"{indent}%b = tensor.extract_slice {b}[0, 0] [{less}, {n}] [1, 1] : tensor<{k}x{n}x{tb}> to "
        f"tensor<{less}x{n}x{tb}>\n"
        f"{indent}{made}linalg.matmul ins(%a, %b : tensor<{m}x{less}x{ta}>, tensor<{less}x{n}x{tb}>)"
    )
    return text[: match.start()] + new + text[match.end() :]


def transposed(text):
    """A square weight the other way round."""
    match = re.search(rf"^( *)(%\w+ = ){_PRODUCT}", text, re.M)
    indent, made, a, b, m, k, ta, _, n, tb = match.groups()
    new = (
        f"{indent}%room = tensor.empty() : tensor<{n}x{k}x{tb}>\n"
        f"{indent}%b = linalg.transpose ins({b} : tensor<{k}x{n}x{tb}>) outs(%room : tensor<{n}x{k}x{tb}>) "
        f"permutation = [1, 0]\n"
        f"{indent}{made}linalg.matmul ins({a}, %b : tensor<{m}x{k}x{ta}>, tensor<{k}x{n}x{tb}>)"
    )
    return text[: match.start()] + new + text[match.end() :]


def f16_sums(text):
    """A product that sums in f16 what is to be summed in f32."""
    match = re.search(rf"^( *)(%\w+) = {_PRODUCT} outs\((%\w+) : (tensor<\w+>)\) -> tensor<\w+>", text, re.M)
    indent, made, a, b, m, k, _, _, n, _, out, kind = match.groups()
    half = f"tensor<{m}x{n}xf16>"
    new = (
        f"{indent}%zero16 = arith.constant 0.0 : f16\n{indent}%room = tensor.empty() : {half}\n"
        f"{indent}%none = linalg.fill ins(%zero16 : f16) outs(%room : {half}) -> {half}\n"
        f"{indent}%sums = linalg.matmul ins({a}, {b} : tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) "
        f"outs(%none : {half}) -> {half}\n"
        f"{indent}{made} = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, "
        f'affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}} '
        f"ins(%sums : {half}) outs({out} : {kind}) {{\n{indent}^bb0(%h: f16, %o: f32):\n"
        f"{indent}  %w = arith.extf %h : f16 to f32\n{indent}  linalg.yield %w : f32\n{indent}}} -> {kind}"
    )
    return text[: match.start()] + new + text[match.end() :]


def accumulating(text):
    """Sums that begin with whatever is in memory."""
    (room,) = re.search(r"linalg\.fill ins\(%\w+ : f32\) outs\((%\w+) :", text).groups()
    made = re.search(r"(%\w+) = linalg\.fill", text)[1]
    return re.sub(rf"outs\({made} :", f"outs({room} :", text, count=1)


SHORT, HALF, FULL, LONG = "mlp_f32", "block_f16", "block_f32", "four_blocks_f16"
NO_RESIDUAL = swap(r"arith\.addf %in, (%\w+) : (f\d+)\n( *linalg\.yield)", r"arith.addf \1, \1 : \2\n\3")
PLANTED = [
    Planted("heads swapped", HALF, "transpose", next_head),
    Planted("heads swapped", FULL, "transpose", next_head),
    Planted("a tile of rows not written", SHORT, "matmul_40x48x96", kept([32, 48])),
    Planted("a tile of rows not written", HALF, "matmul_40x96x48", kept([32, 96])),
    Planted("a tile of a head not written", LONG, "batch_matmul_3x40x40x16", kept([3, 40, 32])),
    Planted("the last row not written", FULL, "matmul_40x48x48", kept([39, 48])),
    Planted("written a row too far down", SHORT, "matmul_40x96x48", kept([39, 96], [1, 0])),
    Planted("the residual left out", SHORT, "matmul_40x48x96", NO_RESIDUAL),
    Planted("the residual left out", LONG, "dispatch_11", NO_RESIDUAL),
    Planted("epsilon ten times too large", SHORT, "dispatch_1", swap("9.99999974E-6", "9.99999974E-5")),
    Planted("epsilon missing", FULL, "dispatch_1", swap("9.99999974E-6", "1.0E-12")),
    Planted("a sum one short", SHORT, "matmul_40x48x96", one_short),
    Planted("a sum one short", HALF, "matmul_40x48x96", one_short),
    Planted("a sum one short", LONG, "dispatch_2_matmul", one_short),
    Planted("a weight transposed", FULL, "dispatch_11", transposed),
    Planted("a weight transposed", LONG, "dispatch_11", transposed),
    Planted("sums of f16", HALF, "matmul_40x48x96", f16_sums),
    Planted("sums of f16", LONG, "matmul_40x48x96", f16_sums),
    Planted("sums that are not zeroed", SHORT, "matmul_40x48x96", accumulating),
    Planted("sums that are not zeroed", HALF, "dispatch_2_matmul", accumulating),
    Planted("a constant of gelu", SHORT, "matmul_40x96x48", swap("4.471500e-02", "4.4e-02")),
    Planted("a constant of gelu", HALF, "matmul_40x96x48", swap("4.470830e-02", "4.2e-02")),
    Planted("the scale of scores", FULL, "batch_matmul_3x40x40x16", swap("4.000000e\\+00", "4.001000e+00")),
    Planted("heads swapped", LONG, "transpose", next_head),
    Planted("the mean of one fewer", FULL, "dispatch_0", swap("4.800000e\\+01", "4.700000e+01")),
    Planted("the mean of one fewer", LONG, "dispatch_0", swap("4.800000e\\+01", "4.700000e+01")),
    Planted("the root in the wrong place", LONG, "dispatch_1", swap(r"math\.rsqrt", "math.sqrt")),
    Planted("softmax along another axis", HALF, "softmax", swap(r"dimension\(2\)", "dimension(1)")),
]
