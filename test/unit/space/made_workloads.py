"""Workloads by hand."""

from __future__ import annotations

import hand_made

from iree_tuner.ops.workload import Companion, Workload


def matmul(m: int, n: int, k: int, kind: str = "f32") -> Workload:
    dims = "affine_map<(d0, d1, d2) -> "
    return hand_made.workload(
        "contraction",
        "matmul",
        (m, n, k),
        ("parallel", "parallel", "reduction"),
        (kind, kind, kind),
        (f"{dims}(d0, d2)>", f"{dims}(d2, d1)>", f"{dims}(d0, d1)>"),
        (("batch", ()), ("m", (0,)), ("n", (1,)), ("k", (2,))),
    )


def conv(height: int, width: int, channels: int) -> Workload:
    dims = "affine_map<(d0, d1, d2, d3, d4, d5, d6) -> "
    return hand_made.workload(
        "convolution",
        "conv",
        (1, height, width, channels, 3, 3, channels),
        ("parallel",) * 4 + ("reduction",) * 3,
        ("f32", "f32", "f32"),
        (f"{dims}(d0, d1 + d4, d2 + d5, d6)>", f"{dims}(d4, d5, d6, d3)>", f"{dims}(d0, d1, d2, d3)>"),
        (
            ("batch", (0,)),
            ("output_image", (1, 2)),
            ("output_channel", (3,)),
            ("filter", (4, 5)),
            ("input_channel", (6,)),
            ("depth", ()),
        ),
        (("strides", (1, 1)), ("dilations", (1, 1))),
    )


def softmax(rows: int, columns: int) -> Workload:
    dims = "affine_map<(d0, d1) -> "
    loops, shared = (rows, columns), (0, 1)
    return hand_made.workload(
        "generic",
        "softmax",
        loops,
        ("parallel", "reduction"),
        ("f32", "f32", "f32"),
        (f"{dims}(d0, d1)>", f"{dims}(d0)>", f"{dims}(d0)>"),
        companions=(
            Companion("companion_0", "reduction", loops, ("parallel", "reduction"), shared),
            Companion("companion_1", "elementwise", loops, ("parallel", "parallel"), shared),
        ),
    )
