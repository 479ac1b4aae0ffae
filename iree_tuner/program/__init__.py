"""Programs: parse them, run the compiler's phases on them, and find their dispatches.

May import `compiler`, `targets` and `ops`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iree_tuner.program.bindings import Binding, Harness, TensorSlice
    from iree_tuner.program.dispatch import Calls, Dispatch
    from iree_tuner.program.extract import Extraction
    from iree_tuner.program.source import Program, load_program

__all__ = [
    "Binding",
    "Calls",
    "Dispatch",
    "Extraction",
    "Harness",
    "Program",
    "TensorSlice",
    "load_program",
]

_HOMES = {
    "Binding": "iree_tuner.program.bindings",
    "Calls": "iree_tuner.program.dispatch",
    "Dispatch": "iree_tuner.program.dispatch",
    "Extraction": "iree_tuner.program.extract",
    "Harness": "iree_tuner.program.bindings",
    "Program": "iree_tuner.program.source",
    "TensorSlice": "iree_tuner.program.bindings",
    "load_program": "iree_tuner.program.source",
}


def __getattr__(name: str) -> object:
    """Imported when it is used: the measuring worker needs little of this, and starts sooner so."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
