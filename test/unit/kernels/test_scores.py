"""Summands of scores: their nests, and the source that is written for a tile of them, over numpy."""

from pathlib import Path

import numpy as np
import numpy_triton
import pytest
from attentions_added import ADDED, given_to
from kernels.test_attention_sites import found

from iree_tuner.kernels import triton_scores, triton_tiles
from iree_tuner.kernels.nest import Access
from iree_tuner.kernels.shapes import attention_shape

PROGRAMS = Path(__file__).parent / "attentions"


def behind(queries: int, keys: int):
    return np.arange(queries)[:, None] - np.arange(keys)[None, :]


def image_places(columns, rows):
    """Of [heads, rows, columns, rows] and [heads, rows, columns, columns], to queries and keys."""
    whole = rows[..., :, None] + columns[..., None, :]
    return whole.reshape(3, 24, 24)


SUMMANDS = {
    "distances": lambda slopes: -slopes[:, None, None] * behind(20, 20),
    "both_distances": lambda slopes: -slopes[:, None, None] * np.minimum(abs(behind(20, 24)), 7),
    "image_places": image_places,
    "places_and_mask": lambda seen, bias: 0.5 * bias[None] + seen[:, None, None, :],
    "masked_bias": lambda bias, seen: np.where(seen[:, None, None, :], bias[None], -np.inf),
    "windows": lambda mask, bias: (
        bias[None] + mask.reshape(1, 3, 1, 20, 20).repeat(2, 0).reshape(6, 1, 20, 20)
    ),
    "two_tables": lambda more, bias: bias[None] + more[:, None, :],
    "near_diagonal": lambda extra, near: near + extra[:, None, None, :],
}
"""What the programs add, by the arrays behind queries, keys and values, in the order of the problem."""


@pytest.fixture
def numpy_as_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy_triton.install(monkeypatch, lambda: 0)


def tiles(function, arrays, heads: int, queries: int, keys: int, bm: int, bk: int):
    """What the function computes for all tiles of all heads."""
    pointers = [numpy_triton.Pointer(np.ascontiguousarray(each).reshape(-1)) for each in arrays]
    whole = np.full((heads, -(-queries // bm) * bm, -(-keys // bk) * bk), np.nan, np.float32)
    for head in range(heads):
        for row in range(0, queries, bm):
            for first in range(0, keys, bk):
                rows, columns = (
                    np.arange(start, start + size).view(numpy_triton.Values)
                    for start, size in ((row, bm), (first, bk))
                )
                found = function((head, row, *pointers), rows[:, None], columns[None, :], first)
                whole[head, row : row + bm, first : first + bk] = found
    return whole[:, :queries, :keys]


@pytest.mark.usefixtures("numpy_as_triton")
@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize(("bm", "bk"), [(16, 16), (4, 2), (64, 32)])
def test_a_summand_is_computed_for_each_tile(name: str, bm: int, bk: int) -> None:
    site = found((PROGRAMS / f"{name}.mlir").read_text())
    problem, given = site.problem, given_to(site)
    shape = attention_shape(problem)
    function = triton_tiles.function_of_tile(problem.added, shape.m, shape.k2, bm, bk)
    arrays = [given[each] for each in triton_tiles.arrays_of(problem.added)]
    heads = int(np.prod(shape.batch))
    got = tiles(function, arrays, heads, shape.m, shape.k2, bm, bk)
    wanted = SUMMANDS[name](*(each if each.dtype == bool else each.astype(np.float64) for each in given[3:]))
    batch = wanted if wanted.size == got.size else np.broadcast_to(wanted, shape_of_heads(shape, wanted))
    np.testing.assert_allclose(got, batch.reshape(got.shape), rtol=2e-3, atol=2e-3)


def shape_of_heads(shape, wanted):
    """The shape of all heads of a summand that some of them share."""
    return (
        (*shape.batch, *wanted.shape[-2:])
        if wanted.ndim > 3
        else (int(np.prod(shape.batch)), *wanted.shape[-2:])
    )


@pytest.mark.usefixtures("numpy_as_triton")
def test_a_mask_hides_keys() -> None:
    seen = np.random.default_rng(0).random((2, 24)) < 0.5
    nest = triton_scores.summand_of(Access(0, 0, (24, 0, 1)), "i1", (2, 20, 24))
    function = triton_tiles.function_of_tile(nest, 20, 24, 16, 16)
    got = tiles(function, [seen], 2, 20, 24, 16, 16)
    np.testing.assert_array_equal(
        got, np.broadcast_to(np.where(seen, 0.0, np.float32(-1e38))[:, None], got.shape)
    )
