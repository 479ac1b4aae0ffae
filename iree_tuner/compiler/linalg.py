"""What the linalg dialect knows of its ops (is one a contraction, with what dimensions), and two op classes.

`iree.compiler.dialects.linalg` has these too, but defines every named op in Python when it is imported, which
takes as long as all the rest that a worker needs before its first call.
"""

from __future__ import annotations

from iree.compiler._mlir_libs import _mlirDialectsLinalg as _binding  # pyright: ignore
from iree.compiler.dialects._linalg_ops_gen import GenericOp, YieldOp

__all__ = [
    "GenericOp",
    "YieldOp",
    "get_indexing_maps",
    "infer_contraction_dimensions",
    "infer_convolution_dimensions",
    "isa_contraction_op",
    "isa_convolution_op",
]

infer_contraction_dimensions = _binding.infer_contraction_dimensions
infer_convolution_dimensions = _binding.infer_convolution_dimensions
isa_contraction_op = _binding.isa_contraction_op
isa_convolution_op = _binding.isa_convolution_op
get_indexing_maps = _binding.get_indexing_maps
