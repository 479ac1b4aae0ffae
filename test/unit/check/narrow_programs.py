"""Programs in f16 and bf16 of several layers, and defects in one dispatch of one layer."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from planted_in_programs import MODELS, kept, swap

_SIGNATURE = re.compile(r"@layer\((.*?)\) -> \((.*?)\) \{")
_EXECUTABLE = re.compile(r"^  flow\.executable private @(\w+) \{.*?^  }\n", re.M | re.S)
_EXPORT = re.compile(r"flow\.executable\.export public @(\w+)")
TYPES, DEPTHS = ("f16", "bf16"), (1, 4, 12)
PLANTED = "planted_"
"""The beginning of a wrong dispatch's name."""


def narrow_program(kind, layers, element_type):
    """A module: so many layers in a row, each with weights of its own."""
    layer = (MODELS / f"layer_{kind}_{element_type}.mlir").read_text()
    taken, result = _SIGNATURE.search(layer).groups()
    first, *weights = [each.partition(": ")[2] for each in taken.split(", %")]
    arguments, calls, value = [f"%x: {first}"], [], "%x"
    for number in range(layers):
        names = [f"%w{number}_{place}" for place in range(len(weights))]
        arguments += [f"{name}: {kind}" for name, kind in zip(names, weights, strict=True)]
        types = ", ".join([first, *weights])
        calls.append(f"    %y{number} = call @layer({', '.join([value, *names])}) : ({types}) -> {result}")
        value = f"%y{number}"
    head = f"  func.func public @main({', '.join(arguments)}) -> {result} {{"
    body = "\n".join([head, *calls, f"    return {value} : {result}", "  }"])
    return f"module {{\n{body}\n{layer}}}\n"


@dataclass(frozen=True)
class NarrowDefect:
    """A wrong dispatch in one layer.

    Attributes:
        what: the defect.
        kind: of layer.
        where: a pattern of the dispatch's name, after its number.
        call: which of the calls of such dispatches in the layer.
        edit: of the dispatch's text.
    """

    what: str
    kind: str
    where: str
    call: int
    edit: Callable[[str], str]

    def __str__(self):
        return f"{self.what}-{self.kind}"

    def put_into(self, text, layer, layers):
        """The program's text at phase `flow` with the defect in one layer, and the export that has it."""
        executables = {each[1]: each for each in _EXECUTABLE.finditer(text)}
        names = {
            name: _EXPORT.search(each[0])[1]
            for name, each in executables.items()
            if re.search(rf"dispatch_\d+_{self.where}", _EXPORT.search(each[0])[1])
        }
        calls = list(re.finditer(rf"flow\.dispatch @({'|'.join(names)})::@(\w+)", text))
        assert len(calls) % layers == 0, f"{len(calls)} dispatches in {layers} layers"
        chosen = calls[layer * (len(calls) // layers) + self.call]
        executable = executables[chosen[1]]
        wrong = (
            executable[0].replace(f"@{chosen[1]} {{", "@planted {").replace(chosen[2], PLANTED + chosen[2])
        )
        changed = self.edit(wrong)
        assert changed != wrong, "the defect changes nothing"
        called = f"flow.dispatch @planted::@{PLANTED}{chosen[2]}"
        text = text[: chosen.start()] + called + text[chosen.end() :]
        end = executable.end()
        return text[:end] + changed + text[end:], chosen[2]


def without_addend(text):
    """An epilogue that forgets to add the residual."""
    return re.sub(
        r"arith\.addf %in, (%\w+) : (b?f16)\n( *linalg\.yield)", r"arith.maximumf \1, \1 : \2\n\3", text
    )


def one_wrong_head(text):
    """A transpose in which one head is that of the next."""
    source = re.search(r"ins\((%\w+) : tensor<24x4x16xb?f16>\)", text)[1]
    kind = re.search(r"tensor<24x4x16x(b?f16)>", text)[1]
    body = re.search(r"( *)\^bb0\(%in: b?f16, %out: b?f16\):\n", text)
    indent = body[1] + "  "
    new = (
        f"{indent}%one = arith.constant 1 : index\n{indent}%two = arith.constant 2 : index\n"
        f"{indent}%i = linalg.index 0 : index\n{indent}%h = linalg.index 1 : index\n"
        f"{indent}%k = linalg.index 2 : index\n"
        f"{indent}%is = arith.cmpi eq, %h, %one : index\n"
        f"{indent}%head = arith.select %is, %two, %h : index\n"
        f"{indent}%taken = tensor.extract {source}[%i, %head, %k] : tensor<24x4x16x{kind}>\n"
    )
    rest = re.sub(r"%in\b", "%taken", text[body.end() :], count=1)
    return text[: body.end()] + new + rest


def mask_off_by_one(text):
    """A causal mask that shows the next token, too."""
    match = re.search(r"( *)(%\w+) = arith\.cmpi sge, (%\w+), (%\w+) : i32\n", text)
    indent, made, row, column = match.groups()
    new = (
        f"{indent}%one = arith.constant 1 : i32\n{indent}%later = arith.addi {row}, %one : i32\n"
        f"{indent}{made} = arith.cmpi sge, %later, {column} : i32\n"
    )
    return text[: match.start()] + new + text[match.end() :]


BOTH = (
    ("residual of attention left out", "matmul_24x64x64", 3, without_addend),
    ("residual of the MLP left out", "matmul_24x64x160", 0, without_addend),
    ("one wrong head", "transpose_24x4x16", 0, one_wrong_head),
    ("mask off by one", "softmax", 0, mask_off_by_one),
    ("scale of scores missing", "softmax", 0, swap("2.500000e-01", "1.000000e+00")),
    ("a tile of the MLP not written", "matmul_24x64x160", 0, kept([16, 64])),
    ("a tile of a head not written", "batch_matmul_4x24x24x16", 0, kept([4, 24, 16])),
)
DEFECTS = [NarrowDefect(what, kind, *rest) for kind in ("gpt", "llama") for what, *rest in BOTH]
"""Each in the first, a middle or the last layer of programs of 1, 4 and 12."""
DEFECTS += [NarrowDefect(what, "mlp", *rest) for what, *rest in BOTH if "of the MLP" in what]
