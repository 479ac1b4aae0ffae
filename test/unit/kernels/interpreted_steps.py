"""Steps of epilogues on all numbers of 16 bits and on f32, run by Triton's interpreter, beside numpy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import triton
import triton.language as tl
from epilogues import gelu, gelu_tanh
from interpreted_tensors import Tensor

from iree_tuner.kernels.triton_source import elementwise


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


STEPS = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": lambda x: x * logistic(x),
    "quick_gelu": lambda x: x * logistic(1.702 * x),
    "sigmoid": logistic,
    "relu": lambda x: np.where(x <= 0, 0, x),
    "relu_ordered": lambda x: np.where(x > 0, x, 0),
    "at_most_6": lambda x: np.where(x >= 6, 6, x),
}


@triton.jit
def alone(x, out, steps: tl.constexpr, size: tl.constexpr):
    place = tl.arange(0, size)
    tl.store(out + place, elementwise(tl.load(x + place), steps, 0))


every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
wide = np.linspace(-12, 12, 1 << 16, dtype=np.float32)
np.seterr(all="ignore")
for step, reference in STEPS.items():
    for given, within in ((every, 2.0**-11), (wide, 1e-6)):
        out = np.zeros_like(given)
        alone[(1,)](Tensor(given), Tensor(out), steps=(step,), size=len(given))
        wanted = reference(given.astype(np.float64))
        known = np.isfinite(wanted) & np.isfinite(given)
        difference = np.abs(out[known] - wanted[known]) - within * np.abs(wanted[known])
        assert difference.max() < 5e-7, f"{step}: off by {difference.max()}"
        if step not in ("sigmoid", "relu_ordered", "at_most_6"):
            assert np.isposinf(out[np.isposinf(given)]).all(), step
            assert np.isnan(out[np.isnan(given)]).all(), step
        elif step == "relu_ordered":
            assert (out[np.isnan(given)] == 0).all()
