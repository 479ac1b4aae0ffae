"""A program on the command line."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from iree_tuner.errors import UsageError


def no_option(_: object, text: str) -> None:
    """A parameter that takes `-` takes mistyped options too, which are told here."""
    if text.startswith("-") and text != "-":
        raise UsageError(f"unknown option {text}")


ProgramName = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help="MLIR text or bytecode in any input dialect of the compiler, an ONNX model, or a command of "
        "MIOpenDriver, BOO or Fusilli in quotes, or a .txt file of them; `-` reads standard input.",
    ),
]
"""A program on the command line."""
