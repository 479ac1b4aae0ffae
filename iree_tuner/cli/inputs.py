"""Flags that say how a program is run, for commands that run one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.groups import PROGRAM
from iree_tuner.errors import UsageError
from iree_tuner.execute.program_run import Filled, InputValue, ProgramRun
from iree_tuner.program.dynamic import sized
from iree_tuner.program.source import Program, load_program

_FILLED = re.compile(r"((?:\d+x)*)([a-zA-Z]\w*)=(.+)")
_HINT = "a number, a .npy file, or a shape as 2x3xf32=1.0"


@Parameter(name="*", group=PROGRAM)
@dataclass(frozen=True, kw_only=True)
class InputFlags:
    """How the program is run.

    Attributes
    ----------
    parameters
        An archive of parameters, .irpa, .gguf or .safetensors, as PATH or SCOPE=PATH; what is in none is
        generated. May be given several times.
    input
        An input of the (first) function: a .npy file, a number, or 2x3xf32=1.0. May be given several times,
        in order; - leaves one to be generated, as all are that are not given.
    function
        An entry function to run; every one by default. May be given several times.
    dim
        A size that stands for dynamic dimensions of the inputs: 128 for all, 0.1=128 for dimension 1 of input
        0. May be given several times.
    """

    parameters: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    input: Annotated[tuple[str, ...], Parameter(negative="", allow_leading_hyphen=True)] = ()
    function: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    dim: Annotated[tuple[str, ...], Parameter(negative="")] = ()

    def sized(self, program: Program) -> Program:
        """The program with the sizes of `--dim`. Raises UsageError for what is no size."""
        return sized(program, self.dim)

    def request(self, program: Program) -> ProgramRun:
        """How to run a program that has its sizes. Raises what `execute.program_request.request` raises."""
        from iree_tuner.execute.program_request import (
            request,
        )  # it loads NumPy, which not every command needs

        return request(
            program,
            tuple(name.removeprefix("@") for name in self.function),
            tuple(map(parse_input, self.input)),
            tuple(map(parse_parameters, self.parameters)),
        )


def opened(name: str | Path) -> Program:
    """The program that people name: a path, `-`, a driver's command, or a file of commands that ends in .txt.

    Raises what `load_program` and `suite.commands.operations_of` raise.
    """
    text = str(name)
    if text.endswith(".txt") or is_command(text):
        from iree_tuner.suite.commands import program_of  # late: most programs are files of MLIR

        return program_of(text)
    return load_program(text)


def is_command(text: str) -> bool:
    """Whether a program is named by a command of another project's driver."""
    if " " not in text:
        return False
    from iree_tuner.suite import commands

    return commands.is_command(text)


def parse_parameters(text: str) -> tuple[str | None, str]:
    """Read `PATH` or `SCOPE=PATH`."""
    scope, equals, path = text.partition("=")
    return (scope, path) if equals else (None, text)


def parse_input(text: str) -> InputValue:
    """Read `-`, a number, `FILE.npy` or `@FILE.npy`, or `2x3xf32=1.0`. Raises UsageError."""
    if text == "-":
        return None
    number = _number(text)
    if number is not None:
        return number
    if text.startswith("@") or text.endswith(".npy"):
        return text.removeprefix("@")
    filled = _FILLED.fullmatch(text)
    value = _number(filled[3]) if filled else None
    if filled is None or value is None:
        raise UsageError(f"'{text}' is no input", hint=_HINT)
    return Filled(tuple(int(size) for size in filled[1].split("x")[:-1]), filled[2], value)


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        return None if math.isnan(found) else found  # runs are compared, and nan is unequal to itself
    return None
