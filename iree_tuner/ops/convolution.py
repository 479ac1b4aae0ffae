"""Convolutions: dense, grouped and depthwise, strided and dilated, in any layout."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform

from iree_tuner.compiler import linalg
from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT, MatchOp, ProductFamily
from iree_tuner.ops.scalar_body import multiplying
from iree_tuner.ops.structure import initial_parameters, inputs_of, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
PARAMETERS = ("strides", "dilations")
MAY_VARY = ("batch", "output_image")
_OUTPUT = 2
INFERRED = {"filter": "filter_loop"}
"""Names of roles in the compiler's inferred dimensions, where they differ."""


class Convolution(ProductFamily):
    """Named convolutions and the generics that the compiler makes of them, of any number of image dimensions.

    One without any channel is left to other families: the compiler's match op does not look into bodies, and
    would match a pooling of the same maps.
    """

    name = "convolution"
    priority = 20
    match_ops = (MatchOp("convolution", ROLES, PARAMETERS, operands=("lhs", "rhs", "output")),)
    turns_operands = True

    def describe(self, op: ir.Operation) -> Workload | None:
        """A convolution with channels, in which only the batch and the image may be dynamic; else None."""
        if (roles := self.roles(op)) is None or (found := multiplying(op)) is None:
            return None
        if (name := _called(roles)) is None:
            return None
        parameters = [*self.parameters(op).items(), *initial_parameters(op)]
        return workload_of(self.name, name, found, list(roles.items()), parameters, MAY_VARY)

    def roles(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]] | None:
        if not linalg.isa_convolution_op(op) or len(inputs_of(op)) != 2:
            return None
        dimensions = linalg.infer_convolution_dimensions(op)
        return dimensions and {role: tuple(getattr(dimensions, INFERRED.get(role, role))) for role in ROLES}

    def parameters(self, op: ir.Operation) -> Mapping[str, tuple[int, ...]]:
        dimensions = linalg.infer_convolution_dimensions(op)
        return {each: tuple(getattr(dimensions, each)) for each in PARAMETERS} if dimensions else {}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match types, maps, strides, dilations and sizes; those of dynamic loops by their bounds."""
        image, weights, output = matching.element_types(workload)
        maps = matching.indexing_maps(workload)
        found = list(preprocessing_transform.MatchConvolutionOp(handle, image, weights, output, maps))
        for role, sizes in zip(ROLES, found[: len(ROLES)], strict=True):
            matching.require_role(sizes, workload, role)
        for parameter, numbers in zip(PARAMETERS, found[len(ROLES) :], strict=True):
            matching.require_sizes(numbers, workload.parameter(parameter))
        matching.require_bounds(handle, workload, _OUTPUT)
        return {ROOT: handle}


def is_convolution(workload: Workload) -> bool:
    """Whether it has the loops of a convolution, so that pipelines for convolutions take it."""
    return workload.plays(ROLES)


def _called(roles: Mapping[str, tuple[int, ...]]) -> str | None:
    if not roles["depth"]:
        return "conv" if roles["output_channel"] or roles["input_channel"] else None
    return "grouped_conv" if roles["input_channel"] else "depthwise_conv"
