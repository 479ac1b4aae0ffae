"""A kernel whose code is IR: products of one matrix with constants as parts of one product."""

from __future__ import annotations

from iree_tuner.kernels.fused_ops import FusedOps


class JointProducts(FusedOps):
    """Products with constants side by side (`joint`), for every target; kernels may compute the joint one."""

    name = "joint_products"
    summary = "products of one matrix with several constants as one product"
    replaces = "joint"
