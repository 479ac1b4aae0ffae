"""Commands of other projects' drivers as operations: MIOpen's and BOO's, and Fusilli's.

    convbfp16 -n 128 -c 128 -H 24 -W 48 -k 384 -y 1 -x 1 -p 0 -q 0 -u 1 -v 1 -F 1 --in_layout NHWC ...
    gemmfp16 -m 512 -n 256 -k 1024 -v 1
    conv --bf16 -F 4 -n 16 -c 96 -H 48 -W 32 -k 288 -y 3 -x 3 -p 1 -q 1 --spatial_dim 2 ...
    matmul -M 512 -N 256 -K 1024 --a_type f16 --b_type f16 --out_type f32 --transB

Their options for repetitions and devices are ignored.
Sources: MIOpen's driver/conv_driver.hpp and gemm_driver.hpp, iree-turbine's kernel/boo/op_exports, Fusilli's
benchmarks/driver.cpp.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import read_text
from iree_tuner.program.source import Program
from iree_tuner.suite.kinds.layer import SPATIAL, ConvolutionLayer
from iree_tuner.suite.kinds.product import BatchMatmul, Matmul
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.programs import module_with
from iree_tuner.suite.suite_file import distinct

SUFFIX = ".txt"
"""Of a file with a command in each line."""

_DRIVERS = ("MIOpenDriver", "iree-boo-driver", "fusilli_benchmark_driver")
_CONVOLUTIONS = {"conv": "f32", "convfp16": "f16", "convbfp16": "bf16"}
_PRODUCTS = {"gemm": "f32", "gemmfp16": "f16", "gemmbfp16": "bf16"}
_VERBS = (*_CONVOLUTIONS, *_PRODUCTS, "matmul")
_KNOWN = ", ".join(_VERBS)
_UNREAD = re.compile(r"(conv|gemm|layernorm|batchnorm|bnorm|pool|softmax|activ|reduce|t5layernorm)\w*")
_DIRECTIONS = {1: "forward", 2: "data", 4: "weights"}
_WORDS_OF_RUNS = (  # with a value: of drivers, not of operations
    "-t", "--time", "-i", "--iter", "-V", "--verify", "-w", "--wall", "-s", "--search", "-S", "--solution",
    "-P", "--printconv", "-o", "--dump_output", "-D", "--device", "-C", "--verification_cache",
)  # fmt: skip


def is_command(text: str) -> bool:
    """Whether a text is a driver's command: a driver's name or a verb, and options."""
    first, *rest = text.split(maxsplit=1) or [""]
    return bool(rest) and (Path(first).name in _DRIVERS or first in _VERBS or bool(_UNREAD.fullmatch(first)))


def operations_of(source: str) -> list[Operation]:
    """The operations of a command, or of a file of commands; each once.

    Args:
        source: a command, or a path that ends in .txt: empty lines and those that begin with # are skipped;
            one may begin with a number of calls, as in lists of MIOpen's.

    Raises:
        TunerError: the file does not exist, or a command in it has a mistake; the line is named.
        UsageError: the command has a mistake.
    """
    if is_command(source):
        return list(distinct(_read(source)))
    found: list[Operation] = []
    for number, line in enumerate(read_text(Path(source)).splitlines(), start=1):
        text = re.sub(r"^\d+\s+", "", line.strip())
        if not text or text.startswith("#"):
            continue
        place = f"{source}:{number}"
        if not is_command(text):
            raise TunerError("the text is not the command of a driver", location=place,
                             hint=f"a command begins with {_KNOWN}")  # fmt: skip
        try:
            found += _read(text)
        except UsageError as error:
            raise TunerError(error.message, location=place, hint=error.hint) from None
    if not found:
        raise TunerError("the file has no commands", location=source)
    return list(distinct(found))


def program_of(source: str) -> Program:
    """One program with a function for each operation of a command or a file. Raises as `operations_of`."""
    operations = operations_of(source)
    with new_context():
        return Program(source, to_bytecode(module_with({each.name: each for each in operations})))


def _read(text: str) -> list[Operation]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from None
    driver = Path(words[0]).name if Path(words[0]).name in _DRIVERS else ""
    words = words[1:] if driver else words
    at = next((i for i, word in enumerate(words) if word in _VERBS), None)
    if at is None:
        verb = next((word for word in words if _UNREAD.fullmatch(word)), "")
        raise UsageError(f"{verb or text}: unsupported command", hint=f"one of: {_KNOWN}")
    verb, options = words[at], [*words[:at], *words[at + 1 :]]
    if verb in _CONVOLUTIONS:
        return _convolutions(verb, options, every=driver == "MIOpenDriver")
    made = _product(verb, options) if verb in _PRODUCTS else _matmul(options)
    made.check()
    return [made]


class _Parser(argparse.ArgumentParser):
    """Of a verb's options; a mistake is a UsageError."""

    def __init__(self, verb: str) -> None:
        super().__init__(prog=verb, add_help=False, allow_abbrev=False)
        for i in range(0, len(_WORDS_OF_RUNS), 2):
            if not any(each in self._option_string_actions for each in _WORDS_OF_RUNS[i : i + 2]):
                self.add_argument(*_WORDS_OF_RUNS[i : i + 2], dest=f"run_{i}")
        self.add_argument("--dump", "-d", action="store_true")

    def number(self, *names: str, default: int, least: int = 1) -> None:
        """An option with a whole number."""

        def read(text: str) -> int:
            value = int(text)
            if value < least:
                raise argparse.ArgumentTypeError(f"{value} is below {least}")
            return value

        read.__name__ = "whole number"
        self.add_argument(*names, type=read, default=default)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")


def _convolutions(verb: str, options: Sequence[str], *, every: bool) -> list[Operation]:
    """Of all directions that a command asks for; without -F all for MIOpen, forward for BOO."""
    given = _convolution_parser(verb, every=every).parse_args(options)
    letters = SPATIAL.get(given.spatial_dim)
    if letters is None:
        raise UsageError(f"{verb}: --spatial_dim must be 1, 2 or 3, but is {given.spatial_dim}")
    mode, asked = str(given.mode), int(given.forw)
    if mode.isdigit():  # Fusilli's long name of -F
        mode, asked = "conv", int(mode)
    if mode != "conv":
        raise UsageError(f"{verb}: -m {mode}: transposed convolutions are not supported")
    if given.pad_val or given.pad_mode not in ("default", "conv"):
        raise UsageError(f"{verb}: only zero padding with explicit sizes is supported")
    if not 0 <= asked <= 7:
        raise UsageError(f"{verb}: -F must be a sum of 1, 2 and 4, but is {asked}")
    element = "f16" if given.fp16 else "bf16" if given.bf16 else _CONVOLUTIONS[verb]
    usual = f"NC{letters}"
    found: list[Operation] = []
    for direction in [name for bit, name in _DIRECTIONS.items() if not asked or asked & bit]:
        made = ConvolutionLayer(
            direction=direction, n=given.batchsize, c=given.in_channels, k=given.out_channels,
            **{
                name: "x".join(str(getattr(given, f"{start}_{each.lower()}")) for each in letters)
                for name, start in (
                    ("image", "in"), ("kernel", "fil"), ("strides", "conv_stride"), ("padding", "pad"),
                    ("dilations", "dilation"),
                )
            },
            groups=given.group_count, in_layout=given.in_layout or usual,
            fil_layout=given.fil_layout or usual, out_layout=given.out_layout or usual,
            element_type=element, bias=bool(given.bias) and direction == "forward",
        )  # fmt: skip
        made.check()
        found.append(made)
    return found


def _convolution_parser(verb: str, *, every: bool) -> _Parser:
    parser = _Parser(verb)
    number = parser.number
    number("--spatial_dim", "-_", default=2)
    number("--batchsize", "-n", default=100)
    number("--in_channels", "-c", default=3)
    number("--out_channels", "-k", default=32)
    number("--group_count", "-g", default=1)
    number("--forw", "-F", default=0 if every else 1, least=0)
    sizes = (("in", "!HW", 32, 1), ("fil", "@yx", 3, 1), ("conv_stride", "#uv", 1, 1), ("pad", "$pq", 0, 0),
             ("dilation", "^lj", 1, 1))  # fmt: skip
    for start, flags, default, least in sizes:
        for letter, flag in zip("dhw", flags, strict=True):
            number(f"--{start}_{letter}", f"-{flag}", default=default, least=least)
    for name, flag in (("in", "-I"), ("fil", "-f"), ("out", "-O")):
        parser.add_argument(f"--{name}_layout", flag)
    parser.add_argument("--mode", "-m", default="conv")
    parser.add_argument("--bias", "-b", nargs="?", type=int, const=1, default=0)
    parser.add_argument("--pad_val", "-r", type=int, default=0)
    parser.add_argument("--pad_mode", "-z", default="default")
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    return parser


def _product(verb: str, options: Sequence[str]) -> Operation:
    """MIOpen's: m is the height of A, k its width. BOO's gradients: -F 2 of A, -F 3 of B."""
    parser = _Parser(verb)
    parser.number("--a_h", "-m", default=256)
    parser.number("--a_w", "-k", default=256)
    parser.number("--b_w", "-n", default=256)
    parser.number("--transA", "-u", default=0, least=0)
    parser.number("--transB", "-v", default=0, least=0)
    parser.number("--forw", "-F", default=1)
    given = parser.parse_args(options)
    m, n, k = given.a_h, given.b_w, given.a_w
    a, b, gradient = "n" if given.transA else "t", "n" if given.transB else "t", "t"
    turned = {"t": "n", "n": "t"}
    # Sizes m, n, k, and layouts of both factors: a gradient has the layout of its operand.
    if given.forw == 1:
        sizes, layout = (m, n, k), a + b
    elif given.forw == 2:
        sizes, layout = ((m, k, n), gradient + turned[b]) if a == "t" else ((k, m, n), b + turned[gradient])
    elif given.forw == 3:
        sizes, layout = ((k, n, m), turned[a] + gradient) if b == "t" else ((n, k, m), turned[gradient] + a)
    else:
        raise UsageError(f"{verb}: -F must be 1, 2 or 3, but is {given.forw}")
    m, n, k = sizes
    element = _PRODUCTS[verb]
    return Matmul(m=m, n=n, k=k, layout=layout, lhs=element, rhs=element, out=element)


def _matmul(options: Sequence[str]) -> Operation:
    parser = _Parser("matmul")
    for flag in "MNK":
        parser.number(f"--{flag.lower()}", f"-{flag}", default=0)
    parser.number("--b", "-B", default=1)
    for name in ("a_type", "b_type", "out_type", "bias_type"):
        parser.add_argument(f"--{name}", default="f32")
    for name in ("transA", "transB", "bias"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args(options)
    if given.bias and given.bias_type != given.out_type:
        raise UsageError(
            f"matmul: a bias of {given.bias_type} for a result of {given.out_type} is not supported"
        )
    arguments: dict[str, Any] = {
        "m": given.m, "n": given.n, "k": given.k, "lhs": given.a_type, "rhs": given.b_type,
        "out": given.out_type, "layout": "tn"[given.transA] + "tn"[given.transB],
        "epilogue": "bias" if given.bias else "",
    }  # fmt: skip
    return BatchMatmul(batch=given.b, **arguments) if given.b > 1 else Matmul(**arguments)
