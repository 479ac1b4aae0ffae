"""Convolutions: dense, grouped and depthwise, strided and dilated, in any layout."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import linalg, preprocessing_transform

from iree_tuner.ops import matching
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.structure import inputs_of, multiplies_and_accumulates, structure, workload_of
from iree_tuner.ops.workload import Workload

ROLES = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
PARAMETERS = ("strides", "dilations")
_INFERRED = {"filter": "filter_loop"}


class Convolution:
    """Named convolutions and the generics that the compiler makes of them, of any number of image dimensions.

    One without any channel is left to other families: the compiler's match op does not look into
    bodies, and would take a pooling of the same maps for it.
    """

    name = "convolution"
    priority = 20

    def describe(self, op: ir.Operation) -> Workload | None:
        """Describe a static convolution of an image and a filter with channels; None for anything else."""
        if not linalg.isa_convolution_op(op) or len(inputs_of(op)) != 2:
            return None
        found = structure(op)
        dimensions = linalg.infer_convolution_dimensions(op)
        if found is None or dimensions is None or not multiplies_and_accumulates(op):
            return None
        roles = [(role, tuple(getattr(dimensions, _INFERRED.get(role, role)))) for role in ROLES]
        name = _called(dict(roles))
        if name is None:
            return None
        parameters = [(each, tuple(getattr(dimensions, each))) for each in PARAMETERS]
        return workload_of(self.name, name, found, roles, parameters)

    def locate(self, op: ir.Operation, workload: Workload) -> Mapping[str, ir.Operation]:
        """Only the root op: its producers and consumers are tiled along with it."""
        del workload
        return {ROOT: op}

    def matcher(self, workload: Workload, handle: ir.Value) -> Mapping[str, ir.Value]:
        """Match types, maps, the sizes of every role, strides and dilations."""
        image, weights, output = matching.element_types(workload)
        found = preprocessing_transform.MatchConvolutionOp(
            handle, image, weights, output, matching.indexing_maps(workload)
        )
        sizes = [workload.sizes(role) for role in ROLES]
        parameters = [workload.parameter(each) for each in PARAMETERS]
        for numbers, expected in zip(found, sizes + parameters, strict=True):
            matching.require_sizes(numbers, expected)
        return {ROOT: handle}


def _called(roles: Mapping[str, tuple[int, ...]]) -> str | None:
    if not roles["depth"]:
        return "conv" if roles["output_channel"] or roles["input_channel"] else None
    return "grouped_conv" if roles["input_channel"] else "depthwise_conv"
