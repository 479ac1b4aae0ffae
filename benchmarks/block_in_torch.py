"""The transformer block of `small_models.py` (`unet_block`) in PyTorch: microseconds of a call, f16.

    python benchmarks/block_in_torch.py

Eager, compiled, and compiled with max-autotune (CUDA graphs): with calls in flight, and one call at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch.nn import functional

TOKENS, CONTEXT, WIDTH, HEADS, CALLS = 1024, 77, 1280, 20, 200

Block = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def weights(*shape: int) -> torch.Tensor:
    """Scaled by how many are summed."""
    return (torch.randn(*shape, device="cuda") / shape[0] ** 0.5).half()


WEIGHTS = [
    *(weights(WIDTH, WIDTH) for _ in range(5)), weights(2048, WIDTH), weights(2048, WIDTH),
    weights(WIDTH, WIDTH), weights(WIDTH, 8 * WIDTH), weights(4 * WIDTH, WIDTH),
]  # fmt: skip


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention of 20 heads."""
    q, k, v = (each.view(2, -1, HEADS, WIDTH // HEADS).transpose(1, 2) for each in (query, key, value))
    return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, TOKENS, WIDTH)


def norm(values: torch.Tensor) -> torch.Tensor:
    """Without weights."""
    return functional.layer_norm(values, (WIDTH,))


def block(x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
    """Attention to itself, to 77 tokens of context, and a gated feed-forward layer."""
    y = norm(x)
    x = x + attend(y @ WEIGHTS[0], y @ WEIGHTS[1], y @ WEIGHTS[2]) @ WEIGHTS[3]
    y = norm(x)
    x = x + attend(y @ WEIGHTS[4], context @ WEIGHTS[5], context @ WEIGHTS[6]) @ WEIGHTS[7]
    values, gate = (norm(x) @ WEIGHTS[8]).chunk(2, -1)
    return x + (values * functional.gelu(gate)) @ WEIGHTS[9]


def timed(run: Block, x: torch.Tensor, context: torch.Tensor) -> str:
    """Medians, and the least and the largest with calls in flight."""
    for _ in range(20):
        run(x, context)
    torch.cuda.synchronize()
    flights: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(CALLS):
            run(x, context)
        torch.cuda.synchronize()
        flights.append((time.perf_counter() - start) / CALLS * 1e6)
    single: list[float] = []
    for _ in range(100):
        start = time.perf_counter()
        run(x, context)
        torch.cuda.synchronize()
        single.append((time.perf_counter() - start) * 1e6)
    flights.sort()
    single.sort()
    return (
        f"in flight {flights[3]:.0f} ({flights[0]:.0f} to {flights[-1]:.0f}), one at a time {single[50]:.0f}"
    )


def main() -> None:
    """Print a line for each way."""
    torch.set_grad_enabled(False)
    x = torch.randn(2, TOKENS, WIDTH, device="cuda").half()
    context = torch.randn(2, CONTEXT, 2048, device="cuda").half()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    for name, run in (
        ("eager", block),
        ("compiled", torch.compile(block)),
        ("max-autotune", torch.compile(block, mode="max-autotune")),
    ):
        print(f"{name}: {timed(run, x, context)}", flush=True)


if __name__ == "__main__":
    main()
