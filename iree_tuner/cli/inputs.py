"""Options that set a program's inputs, parameters and entry functions, for commands that run one.

Values of knobs on the command line: `--knob rows=8`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Protocol, cast

from cyclopts import Parameter

from iree_tuner.cli.output import PROGRAM, people
from iree_tuner.device.program_run import ARCHIVES, Filled, InputValue, ProgramRun
from iree_tuner.errors import UsageError
from iree_tuner.files import read_bytes
from iree_tuner.installed import brought, loaded
from iree_tuner.program.dynamic import sized
from iree_tuner.program.source import Program, load_program
from iree_tuner.tuning.options import CompilerFlags

Knobs = Annotated[tuple[str, ...], Parameter(name="--knob", negative="")]
"""A repeatable option."""


def parse_knobs(texts: Sequence[str]) -> Mapping[str, int]:
    """Parse each `NAME=VALUE`. Raises UsageError."""
    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value.lstrip("-").isdigit():
            raise UsageError(f"'{text}' does not set a knob", hint="write NAME=VALUE, such as rows=8")
        found[name] = int(value)
    return found


_FILLED = re.compile(r"((?:\d+x)*)([a-zA-Z]\w*)=(.+)")
_HINT = "give a number, a .npy, .npz or .safetensors file, or a shape such as 2x3xf32=1.0"


@Parameter(name="*", group=PROGRAM)
@dataclass(frozen=True, kw_only=True)
class InputFlags:
    """How the program is run.

    Attributes
    ----------
    parameters
        Load parameters from an archive (.irpa, .gguf or .safetensors): PATH or SCOPE=PATH. Missing
        parameters are generated. Repeatable.
    input
        Set an input of the first entry function: a .npy file, a number, or 2x3xf32=1.0. Repeat it for
        further inputs, in order. - skips one. Missing inputs are generated. A .npz or .safetensors archive
        sets the inputs that its arrays are named for, or is taken in order.
    function
        Run only this entry function. Repeatable. Default: all of them.
    dim
        Set the size of dynamic input dimensions: 128 sets all, 0.1=128 sets dimension 1 of input 0, batch=128
        the sizes that the program calls so, 2=128 an input that is a size. Repeatable. tune takes several
        sizes, as 1,4,16: the result must not be slower on any of them.
    """

    parameters: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    input: Annotated[tuple[str, ...], Parameter(negative="", allow_leading_hyphen=True)] = ()
    function: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    dim: Annotated[tuple[str, ...], Parameter(negative="")] = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """Their names, which may be written with an @."""
        return tuple(name.removeprefix("@") for name in self.function)

    def sized(self, program: Program) -> Program:
        """Set the sizes of `--dim` in a program. Raises UsageError for text that is not a size."""
        return sized(program, self.dim)

    def request(self, program: Program, flags: Sequence[str] = ()) -> ProgramRun:
        """Describe how to run a program that is compiled with a user's flags.

        Raises what `program_request.request` raises.
        """
        from iree_tuner.device.program_request import request  # loads NumPy: not every command needs it

        given, archives = tuple(map(parse_input, self.input)), tuple(map(parse_parameters, self.parameters))
        found = request(program, self.functions, given, archives, flags)
        for note in (*found.left_out, *found.notes, *filter(None, [found.doubt])):
            people.print(f"note: {note}")
        return found

    def read(self, name: str, flags: Sequence[str], *, tuned: bool) -> tuple[Program | bytes, ProgramRun]:
        """A program, or the bytes of a compiled module, .vmfb; and how to run it.

        Raises what `opened` and `request` raise; for a module UsageError if it has sizes or is to be `tuned`.
        """
        if Path(name).suffix != ".vmfb":
            program = self.sized(opened(name))
            return program, self.request(program, flags)
        if tuned:
            hint = "pass the MLIR that it was compiled from"
            raise UsageError("a compiled module takes no spec", location=name, hint=hint)
        if self.dim:
            raise UsageError("--dim requires a program: of a compiled module, set inputs", location=name)
        archives = [
            (scope or "", str(Path(path).resolve())) for scope, path in map(parse_parameters, self.parameters)
        ]
        given = tuple(map(parse_input, self.input))
        return read_bytes(name), ProgramRun(self.functions, given, tuple(archives))


NO_FLAGS, INPUTS = CompilerFlags(), InputFlags()

Dimensions = Annotated[
    tuple[str, ...],
    Parameter(
        negative="",
        help="Set the size of dynamic input dimensions: 128 sets all, 0.1=128 sets dimension 1 of input 0. "
        "Repeatable.",
    ),
]
"""Sizes, for commands that run no program."""

_READERS, _READER = "iree_tuner.programs", "reader of programs"


class ProgramReader(Protocol):
    """Reads programs that are not MLIR: commands, and files with the suffix that its entry point has as name.

    It is what an entry point of `iree_tuner.programs` names.
    """

    def is_command(self, text: str) -> bool:
        """Whether a text is a command, and not a path."""
        ...

    def program_of(self, source: str) -> Program:
        """The program of a command or a file. Raises TunerError for mistakes in it."""
        ...


def opened(name: str | Path) -> Program:
    """Load a program from a path, from `-`, or from a command or a file that a `ProgramReader` reads.

    Raises what `load_program` and `ProgramReader.program_of` raise.
    """
    text = str(name)
    if (entry := brought(_READERS, _READER).get(Path(text).suffix.removeprefix("."))) is not None:
        return _reader(entry).program_of(text)
    for reader in _readers_of_commands(text):
        return reader.program_of(text)
    return load_program(text)


def is_command(text: str) -> bool:
    """Whether the argument is a command that a `ProgramReader` reads, and not a path."""
    return any(True for _ in _readers_of_commands(text))


def _readers_of_commands(text: str) -> Iterator[ProgramReader]:
    if " " in text:
        readers = map(_reader, brought(_READERS, _READER).values())
        yield from (reader for reader in readers if reader.is_command(text))


def _reader(entry: EntryPoint) -> ProgramReader:
    return cast(ProgramReader, loaded(entry, _READER))


def tell_caution(scheduler: str | None) -> None:
    """Print what to know about a scheduler before anything is sent there."""
    from iree_tuner.tuning.lab import caution_about  # late: few commands have schedulers

    if scheduler is not None and (caution := caution_about(scheduler)):
        people.print(f"warning: {caution}", style="yellow")


def parse_parameters(text: str) -> tuple[str | None, str]:
    """Read `PATH` or `SCOPE=PATH`."""
    scope, equals, path = text.partition("=")
    return (scope, path) if equals else (None, text)


def parse_input(text: str) -> InputValue:
    """Read `-`, a number, `FILE.npy`, `FILE.npz`, `@FILE`, or `2x3xf32=1.0`. Raises UsageError."""
    if text == "-":
        return None
    number = _number(text)
    if number is not None:
        return number
    if text.startswith("@") or text.endswith((".npy", *ARCHIVES)):
        return text.removeprefix("@")
    filled = _FILLED.fullmatch(text)
    value = _number(filled[3]) if filled else None
    if filled is None or value is None:
        raise UsageError(f"'{text}' is not an input", hint=_HINT)
    return Filled(tuple(int(size) for size in filled[1].split("x")[:-1]), filled[2], value)


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        return None if math.isnan(found) else found  # runs are compared, and nan is unequal to itself
    return None


# A program on the command line.


def no_option(_: object, text: str | None) -> None:
    """Reject mistyped options: a parameter that accepts `-` would otherwise accept them as its value."""
    if text and text.startswith("-") and text != "-":
        raise UsageError(f"unknown option {text}")


_ANY = "The program: MLIR text or bytecode in any input dialect of the compiler, or an ONNX model."
_ALSO = (
    "Also a quoted command of MIOpenDriver, BOO or Fusilli, or a .txt file of such commands. `-` reads "
    "standard input."
)

ProgramName = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help=f"{_ANY} {_ALSO}",
    ),
]
"""A program on the command line."""

CompiledName = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help=f"{_ANY} Or a compiled module, .vmfb, which is run as it is. {_ALSO}",
    ),
]
"""A program, compiled or not."""
