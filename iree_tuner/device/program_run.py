"""How a program is run: which of its functions, on which inputs, with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree_tuner.device.outcome import MAY_BE_INVALID, blamed
from iree_tuner.program.dynamic import DimensionSize
from iree_tuner.program.entries import PLAIN, Entry, Feed, Taken
from iree_tuner.program.parameters import Parameter

ARCHIVES = (".npz", ".safetensors")
"""Ends of names of files that hold several arrays."""


@dataclass(frozen=True)
class Member:
    """An array of an archive.

    Attributes:
        path: the archive.
        key: the array's name there.
    """

    path: str
    key: str


@dataclass(frozen=True)
class Filled:
    """A tensor with one value everywhere; its sizes replace the ones that the program leaves open."""

    shape: tuple[int, ...]
    element_type: str
    value: float


InputValue = str | Member | int | float | Filled | None
"""The path of a .npy file, an array of an archive, a number (a tensor is filled with it), a filled tensor, or
generated."""


@dataclass(frozen=True)
class ProgramRun:
    """How a program is run. `device.program_request.request` makes one for a program, and checks it.

    Attributes:
        functions: entry functions, each called once an invocation, in this order; empty for every one whose
            inputs can be made, in the program's order.
        inputs: of the first of these functions, in order; missing ones are generated.
        parameters: scopes and archives (.irpa, .gguf, .safetensors), as absolute paths.
        sizes: of dynamic dimensions, for generated inputs.
        wanted: the parameters that the program names; parameters that are in no archive are generated.
        entries: the program's entry functions, where the compiled program does not tell what they take: what
            comes from torch or ONNX does not.
        unclear: ops through which indices could not be followed to inputs, so that generated ones may be
            invalid.
        keeps_state: whether calls change what later ones compute.
        notes: for people, on inputs that are converted and parameters that an archive lacks.
        missing: options that set the sizes which are not known.
        case: the options that gave the sizes; empty without.
        others: the program with other sizes, on which its versions are compared too.
        left_out: functions that cannot be called, each with the reason.
        has_barriers: whether compiled code may write to its constants (docs/upstream/constant_written.md).
        has_checks: whether it has `check.expect_*` ops, which are evaluated (`device.checks`).
    """

    functions: tuple[str, ...] = ()
    inputs: tuple[InputValue, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    sizes: tuple[DimensionSize, ...] = ()
    wanted: tuple[Parameter, ...] = ()
    entries: tuple[Entry, ...] = ()
    unclear: tuple[str, ...] = ()
    keeps_state: bool = False
    notes: tuple[str, ...] = ()
    missing: str = ""
    case: str = ""
    others: tuple[ProgramRun, ...] = ()
    left_out: tuple[str, ...] = ()
    has_barriers: bool = False
    has_checks: bool = False

    @property
    def doubt(self) -> str:
        """Why generated inputs may be invalid; empty where nothing says so."""
        if not self.unclear:
            return ""
        return f"{MAY_BE_INVALID}: indices depend on {', '.join(self.unclear)}; pass inputs with --input"

    def blamed(self, message: str) -> str:
        """A message about wrong code, for people: generated inputs may be the cause."""
        return blamed(message, self.unclear)

    def feed(self, function: str, number: int) -> Feed:
        """The role of a function's input."""
        feeds = next((entry.feeds for entry in self.entries if entry.name == function), ())
        return feeds[number] if number < len(feeds) else PLAIN

    @property
    def cases(self) -> tuple[ProgramRun, ...]:
        """The run for each case of sizes, each alone."""
        return (replace(self, others=()), *self.others)

    def refusal(self, function: str) -> str:
        """Why a function cannot be called with the sizes; empty where nothing says so."""
        return next((entry.refusal for entry in self.entries if entry.name == function), "")

    def written(self, function: str, number: int) -> Taken | None:
        """The type of an input in the program. The compiler may change it: f64 becomes f32."""
        inputs = next((entry.inputs for entry in self.entries if entry.name == function), ())
        return inputs[number] if number < len(inputs) else None

    def input(self, number: int) -> InputValue:
        """The value given for an input; None where it is to be generated."""
        return self.inputs[number] if number < len(self.inputs) else None


def scopes_of(wanted: Sequence[Parameter]) -> list[str]:
    """The scopes of parameters, each once, in order."""
    return list(dict.fromkeys(each.scope for each in wanted))
