"""Workloads by hand, and limits of targets, for the tests of spaces that are built here for GPUs."""

from __future__ import annotations

import hand_made

from iree_tuner.ops.workload import Workload
from iree_tuner.targets import GpuLimits

SM_80 = GpuLimits(
    "cuda",
    "sm_80",
    "+ptx76",
    (32,),
    shared_memory_bytes=166912,
    mma=("NV_MMA_SYNC_F32_16x8x16_F16", "NV_WMMA_F32_16x16x16_F16"),
)
GFX942 = GpuLimits(
    "hip",
    "gfx942",
    "",
    (64,),
    shared_memory_bytes=65536,
    mma=("MFMA_F32_16x16x16_F16", "MFMA_F32_32x32x8_F16", "MFMA_F32_4x4x4x16B_F16", "MFMA_F32_16x16x4_F32"),
)


def batch_matmul(batch: int, m: int, n: int, k: int, kind: str = "f16") -> Workload:
    dims = "(d0, d1, d2, d3) -> "
    return hand_made.workload(
        "contraction",
        "batch_matmul",
        (batch, m, n, k),
        ("parallel", "parallel", "parallel", "reduction"),
        (kind, kind, "f32"),
        (f"{dims}(d0, d1, d3)", f"{dims}(d0, d3, d2)", f"{dims}(d0, d1, d2)"),
        (("batch", (0,)), ("m", (1,)), ("n", (2,)), ("k", (3,))),
    )


def grouped_channels_first(kind: str = "f16") -> Workload:
    dims = "(d0, d1, d2, d3, d4, d5, d6, d7) -> "
    return hand_made.workload(
        "convolution",
        "grouped_conv",
        (2, 4, 64, 32, 32, 32, 3, 3),
        ("parallel",) * 5 + ("reduction",) * 3,
        (kind, kind, "f32"),
        (
            f"{dims}(d0, d1, d5, d3 + d6, d4 + d7)",
            f"{dims}(d1, d2, d5, d6, d7)",
            f"{dims}(d0, d1, d2, d3, d4)",
        ),
        (
            ("batch", (0,)),
            ("output_image", (3, 4)),
            ("output_channel", (2,)),
            ("filter", (6, 7)),
            ("input_channel", (5,)),
            ("depth", (1,)),
        ),
        (("strides", (1, 1)), ("dilations", (1, 1))),
    )


def grouped_channels_last(stride: int = 1) -> Workload:
    dims = "(d0, d1, d2, d3, d4, d5, d6, d7) -> "
    rows, columns = (f"d1 * {stride} + d5", f"d2 * {stride} + d6") if stride > 1 else ("d1 + d5", "d2 + d6")
    return hand_made.workload(
        "convolution",
        "grouped_conv",
        (2, 32, 16, 4, 64, 3, 3, 32),
        ("parallel",) * 5 + ("reduction",) * 3,
        ("f16", "f16", "f32"),
        (
            f"{dims}(d0, {rows}, {columns}, d3, d7)",
            f"{dims}(d3, d4, d5, d6, d7)",
            f"{dims}(d0, d1, d2, d3, d4)",
        ),
        (
            ("batch", (0,)),
            ("output_image", (1, 2)),
            ("output_channel", (4,)),
            ("filter", (5, 6)),
            ("input_channel", (7,)),
            ("depth", (3,)),
        ),
        (("strides", (stride, stride)), ("dilations", (1, 1))),
    )


def depthwise() -> Workload:
    dims = "(d0, d1, d2, d3, d4) -> "
    return hand_made.workload(
        "convolution",
        "depthwise_conv",
        (56, 56, 64, 3, 3),
        ("parallel",) * 3 + ("reduction",) * 2,
        ("f16", "f16", "f32"),
        (f"{dims}(d0 + d3, d1 + d4, d2)", f"{dims}(d3, d4, d2)", f"{dims}(d0, d1, d2)"),
        (
            ("batch", ()),
            ("output_image", (0, 1)),
            ("output_channel", ()),
            ("filter", (3, 4)),
            ("input_channel", ()),
            ("depth", (2,)),
        ),
        (("strides", (1, 1)), ("dilations", (1, 1))),
    )
