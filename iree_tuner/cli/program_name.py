"""A program on the command line."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from iree_tuner.errors import UsageError


def no_option(_: object, text: str) -> None:
    """Reject mistyped options: a parameter that accepts `-` would otherwise accept them as its value."""
    if text.startswith("-") and text != "-":
        raise UsageError(f"unknown option {text}")


ProgramName = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help="The program: MLIR text or bytecode in any input dialect of the compiler, or an ONNX model. "
        "Also a quoted command of MIOpenDriver, BOO or Fusilli, or a .txt file of such commands. `-` reads "
        "standard input.",
    ),
]
"""A program on the command line."""
