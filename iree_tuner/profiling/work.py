"""How much a dispatch computes and moves, and the least time that a device could take for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iree_tuner.cost.access import operands_of
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.scalar_body import facts_of
from iree_tuner.ops.workload import Workload
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.program.bindings import Harness, TensorSlice
from iree_tuner.program.dispatch import Dispatch

_MULTIPLY_ADD = ("contraction", "convolution", "scaled_contraction")
_NO_ARITHMETIC = ("constant", "extf", "truncf", "index_cast", "sitofp", "uitofp", "fptosi", "extsi", "extui",
                  "trunci", "bitcast", "select")  # fmt: skip


@dataclass(frozen=True)
class Work:
    """What one call of a dispatch has to do.

    Attributes:
        flops: arithmetic operations, a multiply-add as two; 0 where they are not known.
        read_bytes: of what it reads.
        written_bytes: of what it writes.
        element_type: of what is multiplied or combined; empty where it is not known.
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
    total = float(math.prod(workload.loops))
    if workload.family in _MULTIPLY_ADD:
        return 2.0 * total
    if workload.family == "attention":
        sizes = {role: float(math.prod(workload.sizes(role))) for role in ("batch", "m", "n", "k1", "k2")}
        return 2.0 * sizes["batch"] * sizes["m"] * sizes["k2"] * (sizes["k1"] + sizes["n"])
    flops = total * _body_operations(workload, "root")
    for companion in workload.companions:
        flops += math.prod(companion.loops) * _body_operations(workload, companion.label)
    return flops


def element_type_of(workload: Workload) -> str:
    """Type of what is multiplied; for an op that does not multiply, the type of its result."""
    if workload.family in (*_MULTIPLY_ADD, "attention") and len(workload.types) > 1:
        return max(workload.types[:2], key=lambda kind: kind.bits).name
    return workload.types[-1].name if workload.types else ""


def _body_operations(workload: Workload, label: str) -> int:
    """Arithmetic ops in the body of the op with that label; 1 where the workload does not say."""
    body = facts_of(workload.dag).body(label)
    return 1 if body is None else sum(name not in _NO_ARITHMETIC for _, name in body.arithmetic)


def _moved(harness: Harness, workload: Workload | None) -> tuple[float, float]:
    """Bytes read and written. What is known of a binding's tensors counts, else the whole binding.

    A gather may use a small part of what it is given: no more elements count than the root op has iterations.
    """
    read = written = 0.0
    most = math.prod(workload.loops) if workload and workload.family == "generic" else None
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
