"""A second opinion on a dispatch's results: its IR, interpreted with NumPy in double precision.

Independent of the code generator, and for small sizes only. Evaluates what the dispatch's function says, op
by op, and recognises no patterns: a linalg op is its own body, evaluated at all points of the parallel loops
at once and one step of the reduction loops after the other. For larger sizes on GPUs, the code for this
machine's processor (`OnHost`).
"""

from iree_tuner.check.reference.interpreter import read_ahead, reference_outputs, write_ahead
from iree_tuner.check.reference.on_host import OnHost
from iree_tuner.check.reference.scalars import Unsupported

__all__ = ["OnHost", "Unsupported", "read_ahead", "reference_outputs", "write_ahead"]
