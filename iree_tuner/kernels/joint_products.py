"""A kernel whose code is IR: it combines products of one matrix with constants into one product."""

from __future__ import annotations

from iree_tuner.kernels.fused_ops import FusedOps


class JointProducts(FusedOps):
    """Joint products (`joint`), for every target. Other kernels may compute the joint product."""

    name = "joint_products"
    summary = "products of one matrix with several constants as one product"
    replaces = "joint"
