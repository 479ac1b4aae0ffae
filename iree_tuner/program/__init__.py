"""Programs: parse them, run the compiler's phases on them, and find their dispatches.

May import `compiler`, `targets` and `ops`.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.program.bindings import Binding, Harness, TensorSlice
    from iree_tuner.program.dispatch import CallCount, Dispatch
    from iree_tuner.program.extract import Extraction
    from iree_tuner.program.source import Program, load_program

__all__ = [
    "Binding",
    "CallCount",
    "Dispatch",
    "Extraction",
    "Harness",
    "Program",
    "TensorSlice",
    "load_program",
]

_HOMES = {
    "Binding": "bindings",
    "CallCount": "dispatch",
    "Dispatch": "dispatch",
    "Extraction": "extract",
    "Harness": "bindings",
    "Program": "source",
    "TensorSlice": "bindings",
    "load_program": "source",
}

__getattr__ = lazily(__name__, _HOMES)
