"""Queries of the linalg dialect (is an op a contraction, with which dimensions), and some op classes.

`iree.compiler.dialects.linalg` has these too, but defines every named op in Python when it is imported, which
takes as long as all the rest that a worker needs before its first call: `named` imports it when it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from iree.compiler import ir
from iree.compiler._mlir_libs import _mlirDialectsLinalg as _binding  # pyright: ignore
from iree.compiler.dialects._linalg_enum_gen import IteratorType  # registers its builder
from iree.compiler.dialects._linalg_ops_gen import GenericOp, IndexOp, SoftmaxOp, YieldOp

__all__ = [
    "GenericOp",
    "IndexOp",
    "SoftmaxOp",
    "YieldOp",
    "get_indexing_maps",
    "infer_contraction_dimensions",
    "infer_contraction_dimensions_from_maps",
    "infer_convolution_dimensions",
    "infer_convolution_dimensions_from_maps",
    "isa_contraction_op",
    "isa_convolution_op",
    "iterator_type",
    "named",
]

infer_contraction_dimensions = _binding.infer_contraction_dimensions
infer_contraction_dimensions_from_maps = _binding.infer_contraction_dimensions_from_maps
infer_convolution_dimensions = _binding.infer_convolution_dimensions
infer_convolution_dimensions_from_maps = _binding.infer_convolution_dimensions_from_maps
isa_contraction_op = _binding.isa_contraction_op
isa_convolution_op = _binding.isa_convolution_op
get_indexing_maps = _binding.get_indexing_maps


def iterator_type(kind: str, context: ir.Context | None = None) -> ir.Attribute:
    """`#linalg.iterator_type<KIND>`, of `parallel` or `reduction`."""
    build = ir.AttrBuilder.get("linalg.IteratorTypeEnum")
    return build(IteratorType[kind], context=context or ir.Context.current)


def named(name: str) -> Callable[..., ir.Value]:
    """The builder of a named op, such as `conv_2d_nhwc_hwcf`. Raises AttributeError where there is none."""
    from iree.compiler.dialects import linalg

    return cast("Callable[..., ir.Value]", getattr(linalg, name))
