"""How much a dispatch computes and moves, and the least time that a device could take for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import family_of
from iree_tuner.ops.workload import Workload
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.program.bindings import Harness, TensorSlice
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.search.cost.access import operands_of


@dataclass(frozen=True)
class Work:
    """The work of one call of a dispatch.

    Attributes:
        flops: arithmetic operations, a multiply-add as two; 0 where they are not known.
        read_bytes: bytes that it reads.
        written_bytes: bytes that it writes.
        element_type: of the elements that are multiplied or combined; empty where it is not known.
    """

    flops: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    element_type: str = ""

    @property
    def bytes(self) -> float:
        """Moved in either direction."""
        return self.read_bytes + self.written_bytes


def work_of(dispatch: Dispatch) -> Work:
    """The work of one call; bytes are 0 for a dispatch without a harness and without a workload."""
    workload = dispatch.workload
    flops = flops_of(workload) if workload else 0.0
    kind = element_type_of(workload) if workload else ""
    read, written = 0.0, 0.0
    if dispatch.harness is not None:
        read, written = _moved(dispatch.harness, workload)
    elif workload is not None:
        read, written = _operand_bytes(workload)
    return Work(flops, read, written, kind)


def floor_us(dispatch: Dispatch, roofline: Roofline) -> float:
    """The least time of one call that the roofline allows, in microseconds; 0 where nothing bounds it.

    No call is as fast: it also has to begin and to end. A time can be compared with it; it is no promise.
    """
    work = work_of(dispatch)
    return roofline.attainable_us(work.flops, work.bytes, work.element_type)


def flops_of(workload: Workload) -> float:
    """Arithmetic operations of one run, a multiply-add as two; a function such as `exp` as one."""
    return family_of(workload).flops(workload)


def element_type_of(workload: Workload) -> str:
    """Type of the multiplied elements; for an op that does not multiply, the type of its result."""
    found = family_of(workload).computed_in(workload)
    return found.name if found else ""


def _moved(harness: Harness, workload: Workload | None) -> tuple[float, float]:
    """Bytes read and written. The known tensors of a binding count, else the whole binding.

    A gather may use a small part of its input: no more elements count than the root op has iterations.
    """
    read = written = 0.0
    most = math.prod(workload.loops) if workload and not workload.dynamic else None
    for binding in harness.bindings:
        if not binding.tensors:
            read += binding.length
        for tensor in binding.tensors:
            size = _tensor_bytes(tensor, most)
            read += size if tensor.access != "write" else 0.0
            written += size if tensor.access != "read" else 0.0
    return read, written


def _tensor_bytes(tensor: TensorSlice, most: int | None) -> float:
    count = math.prod(tensor.shape)
    return (count if most is None else min(count, most)) * ElementType.named(tensor.element_type).bits / 8


def _operand_bytes(workload: Workload) -> tuple[float, float]:
    """From the maps of the root op, where there is no harness."""
    tiles = np.array([workload.loops], dtype=np.float64)
    sizes = [float(operand.bytes(tiles)[0]) for operand in operands_of(workload)]
    return sum(sizes[:-1]), sizes[-1] if sizes else 0.0
