"""A recommendation model like DLRM: dense layers, rows of tables, products of all pairs, dense layers."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.model import Model
from examples.models.weights import Weights

BATCH, FACTS, TABLES, ROWS, WIDTH = 256, 13, 8, 20_000, 64
BOTTOM, TOP = (512, 256, WIDTH), (1024, 1024, 512, 256)
PAIRS = (TABLES + 1) ** 2


def weights() -> Weights:
    """Both stacks of dense layers, and the tables."""
    w = Weights("recommender")
    for name, sizes in (("bottom", (FACTS, *BOTTOM)), ("top", (WIDTH + PAIRS, *TOP))):
        for number, (wide, out) in enumerate(pairwise(sizes)):
            w.linear(f"{name}{number}", wide, out, gain=2.0**0.5)
    w.linear("click", TOP[-1], 1)
    for table in range(TABLES):
        w.table(f"table{table}", ROWS, WIDTH)
    return w


def inputs(rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
    """Facts about requests, and a row of each table for each request."""
    return (
        rng.standard_normal((BATCH, FACTS), np.float32),
        rng.integers(0, ROWS, (TABLES, BATCH), dtype=np.int32),
    )


def forward(f: ModuleType, w: Any, facts: Any, rows: Any) -> tuple[Any, ...]:
    """How likely a click is: a score for each request."""
    x = facts
    for number in range(len(BOTTOM)):
        x = f.relu(f.linear(w, f"bottom{number}", x))
    looked_up = [f.embed(w, f"table{table}", rows[table]) for table in range(TABLES)]
    every = f.stack([x, *looked_up]).swapaxes(0, 1)
    pairs = (every @ every.swapaxes(1, 2)).reshape(BATCH, PAIRS)
    x = f.join_channels(x, pairs)
    for number in range(len(TOP)):
        x = f.relu(f.linear(w, f"top{number}", x))
    return (f.linear(w, "click", x),)


MODEL = Model("recommender", "like DLRM, 256 requests, 8 tables", weights, inputs, forward)
