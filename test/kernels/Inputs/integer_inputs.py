"""Write random arguments of integers.mlir as files, and print them as flags of iree-run-module."""

import sys
from pathlib import Path

import numpy as np

rng = np.random.default_rng(0)
folder, middle, channels = Path(sys.argv[1]), 24, 8
scales = [(0.02, middle), (0.01, middle), (0.02, channels)]
kernels = [(1, 1, channels, middle), (3, 3, middle), (1, 1, middle, channels)]
values = [rng.integers(-128, 128, (1, 6, 7, channels), np.int8)]
for (scale, size), kernel in zip(scales, kernels, strict=True):
    values.append(rng.integers(-128, 128, kernel, np.int8))
    values += [
        np.full(size, scale, np.float32) * rng.random(size, np.float32),
        np.full(size, 3.0, np.float32),
    ]
values += [np.array(each, np.float32) for each in (0.75, 0.5, 1.25)]
for number, value in enumerate(values):
    np.save(folder / f"{number}.npy", value)
print("\n".join(f"--input=@{folder}/{number}.npy" for number in range(len(values))))
