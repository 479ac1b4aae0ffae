"""How a program is run: which of its functions, on which inputs, with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree_tuner.device.outcome import MAY_BE_INVALID, blamed
from iree_tuner.program.dynamic import DimensionSize
from iree_tuner.program.entries import PLAIN, Entry, Feed, Taken
from iree_tuner.program.parameters import Parameter

ARCHIVES = (".npz", ".safetensors")
"""Suffixes of files that hold several arrays."""


@dataclass(frozen=True)
class ArchiveMember:
    """An array of an archive: the archive's path, and the array's name in it."""

    path: str
    key: str


@dataclass(frozen=True)
class Filled:
    """A tensor with one value everywhere; `shape` replaces sizes that the program leaves open."""

    shape: tuple[int, ...]
    element_type: str
    value: float


InputValue = str | ArchiveMember | int | float | Filled | None
"""The path of a .npy file, an array of an archive, a number (a tensor is filled with it), a filled tensor, or
generated."""


@dataclass(frozen=True)
class ProgramRun:
    """How a program is run. `device.program_request.request` makes one for a program, and checks it."""

    # entry functions, each called once an invocation, in this order; empty for all whose inputs can be made,
    # in the program's order
    functions: tuple[str, ...] = ()
    # of the first of these functions, in order; missing ones are generated
    inputs: tuple[InputValue, ...] = ()
    # scopes and archives (.irpa, .gguf, .safetensors), as absolute paths
    parameters: tuple[tuple[str, str], ...] = ()
    sizes: tuple[DimensionSize, ...] = ()  # of dynamic dimensions, for generated inputs
    # the parameters that the program names; those that are in no archive are generated
    wanted: tuple[Parameter, ...] = ()
    # the program's entry functions, in case the compiled program does not declare its inputs, as programs
    # from torch or ONNX
    entries: tuple[Entry, ...] = ()
    # ops through which indices could not be followed to inputs, so that generated ones may be invalid
    unclear: tuple[str, ...] = ()
    keeps_state: bool = False  # whether calls change what later ones compute
    # for people, on inputs that are converted and parameters that an archive lacks
    notes: tuple[str, ...] = ()
    missing: str = ""  # options that set the unknown sizes
    case: str = ""  # the options that gave the sizes; or empty
    # the program with other sizes, for which its versions are also compared
    others: tuple[ProgramRun, ...] = ()
    left_out: tuple[str, ...] = ()  # functions that cannot be called, each with the reason
    # whether compiled code may write to its constants (docs/upstream/constant_written.md)
    has_barriers: bool = False
    has_checks: bool = False  # whether it has `check.expect_*` ops, which are evaluated (`device.checks`)

    @property
    def doubt(self) -> str:
        """Why generated inputs may be invalid; empty if they are valid."""
        ops = ", ".join(self.unclear)
        return f"{MAY_BE_INVALID}: indices depend on {ops}; pass inputs with --input" if ops else ""

    def blamed(self, message: str) -> str:
        """A message about wrong code, for people; generated inputs may be the cause."""
        return blamed(message, self.unclear)

    def feed(self, function: str, number: int) -> Feed:
        """The role of a function's input."""
        feeds = next((entry.feeds for entry in self.entries if entry.name == function), ())
        return feeds[number] if number < len(feeds) else PLAIN

    @property
    def cases(self) -> tuple[ProgramRun, ...]:
        """The runs of all cases of sizes."""
        return (replace(self, others=()), *self.others)

    def written(self, function: str, number: int) -> Taken | None:
        """The type of an input in the program, which the compiler may change: f64 becomes f32."""
        inputs = next((entry.inputs for entry in self.entries if entry.name == function), ())
        return inputs[number] if number < len(inputs) else None

    def input(self, number: int) -> InputValue:
        """The value given for an input; None if it is generated."""
        return self.inputs[number] if number < len(self.inputs) else None


def scopes_of(wanted: Sequence[Parameter]) -> list[str]:
    """The different scopes of parameters, in order."""
    return list(dict.fromkeys(each.scope for each in wanted))
