"""Triton's kernels run by its interpreter, on a processor; in a process of its own, which is told so."""

from __future__ import annotations

import os

import numpy as np
from made_operations import CASES, Made, arrays

from iree_tuner.suite.kinds.attention import Attention
from iree_tuner.suite.kinds.batch_matmul import BatchMatmul
from iree_tuner.suite.kinds.elementwise import Elementwise
from iree_tuner.suite.kinds.matmul import Matmul
from iree_tuner.suite.kinds.reduction import Reduction
from iree_tuner.suite.kinds.softmax import Softmax
from iree_tuner.suite.operation import Operation


def compute(operations: list[Operation]) -> list[np.ndarray | str]:
    """The result of each, twice: from plans that share their buffers; or why not, as text."""
    assert os.environ["TRITON_INTERPRET"] == "1"
    from iree_tuner.suite.backends.recorded import record
    from iree_tuner.suite.backends.torch_running import array_of, tensor_of
    from iree_tuner.suite.backends.triton_plan import plans_of
    from iree_tuner.suite.primitives import CannotError

    found: list[np.ndarray | str] = []
    for operation in operations:
        kinds = [each.element_type for each in operation.inputs]
        inputs = [tensor_of(each, kind) for each, kind in zip(arrays(operation), kinds, strict=True)]
        others = [each.clone().zero_() for each in inputs]
        try:
            first, second = plans_of(record(operation), [inputs, others])
        except CannotError as error:
            found.append(str(error))
            continue
        second.run()
        found.append(array_of(first.run(), operation.result.element_type))
    return found


def made() -> list[Operation]:
    """An operation of each case, and larger ones of the suite's kinds."""
    return [*(Made(case=case) for case in CASES), *LARGER]


LARGER = (
    Matmul(m=64, n=128, k=256, lhs="f16", rhs="f16", out="f16"),
    Matmul(m=100, n=70, k=130, layout="nt", epilogue="bias+gelu_tanh+residual", accumulate=True),
    Matmul(m=16, n=32, k=64, lhs="i8", rhs="i8", out="f16", layout="tn", epilogue="bias+relu"),
    Matmul(m=32, n=32, k=512, split_k=4),
    BatchMatmul(batch=3, m=33, n=65, k=40, layout="nn", epilogue="bias+silu"),
    Attention(batch=2, heads=4, key_heads=2, queries=40, keys=72, size=32, causal=True),
    Attention(heads=2, queries=64, keys=64, size=64, value_size=32, element_type="f32", mask=True),
    Softmax(rows=5, columns=1000, element_type="f16"),
    Reduction(function="mean", rows=2, columns=1 << 16, element_type="f16"),
    Reduction(function="max", rows=1 << 12, columns=20, axis="rows"),
    Elementwise(rows=30, columns=70, chain="add+gelu+multiply+tanh+maximum"),
)
"""Of many tiles, of sizes that tiles divide and others; with three more operands; split in two kernels."""
