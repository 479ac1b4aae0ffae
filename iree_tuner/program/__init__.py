"""Programs: parse them, run the compiler's phases on them, and find their dispatches.

May import `compiler`, `targets` and `ops`.
"""

from iree_tuner.program.dispatch import Binding, Calls, Dispatch, Harness, TensorSlice
from iree_tuner.program.extract import Extraction, extract
from iree_tuner.program.source import Program, load_program

__all__ = [
    "Binding",
    "Calls",
    "Dispatch",
    "Extraction",
    "Harness",
    "Program",
    "TensorSlice",
    "extract",
    "load_program",
]
