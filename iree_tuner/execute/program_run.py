"""How a program is run: which of its functions, on which inputs, with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree_tuner.execute.outcome import MAY_BE_INVALID, blamed
from iree_tuner.program.dynamic import DimensionSize
from iree_tuner.program.entries import Entry
from iree_tuner.program.feeds import PLAIN, Feed
from iree_tuner.program.parameters import Parameter


@dataclass(frozen=True)
class Filled:
    """A tensor with one value everywhere; its sizes replace the ones that the program leaves open."""

    shape: tuple[int, ...]
    element_type: str
    value: float


InputValue = str | int | float | Filled | None
"""The path of a .npy file, a number (a tensor is filled with it), a filled tensor, or generated."""


@dataclass(frozen=True)
class ProgramRun:
    """How a program is run. `execute.program_request.request` makes one for a program, and checks it.

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
        has_barriers: whether compiled code may write to its constants (docs/upstream/constant_written.md).
        has_checks: whether it has `check.expect_*` ops, which are evaluated (`execute.checks`).
    """

    functions: tuple[str, ...] = ()
    inputs: tuple[InputValue, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    sizes: tuple[DimensionSize, ...] = ()
    wanted: tuple[Parameter, ...] = ()
    entries: tuple[Entry, ...] = ()
    unclear: tuple[str, ...] = ()
    keeps_state: bool = False
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

    def input(self, number: int) -> InputValue:
        """The value given for an input; None where it is to be generated."""
        return self.inputs[number] if number < len(self.inputs) else None


def scopes_of(wanted: Sequence[Parameter]) -> list[str]:
    """The scopes of parameters, each once, in order."""
    return list(dict.fromkeys(each.scope for each in wanted))
