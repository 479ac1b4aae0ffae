"""The sources of nests compute what the nests say, also past the ends of tiles: over numpy, not Triton."""

import math

import numpy as np
import pytest
from kernels.numpy_triton import install, run_all

from iree_tuner.kernels import nest as nest_module
from iree_tuner.kernels.formula import CONSTANT, INPUT
from iree_tuner.kernels.formula import FormulaTerm as Term
from iree_tuner.kernels.nest import INSIDE, OUTSIDE, Access, Nest, Range
from iree_tuner.kernels.triton_norms import function_of

READ = Term(INPUT, "f32")
OPS = (
    ("arith.addf", 2, np.add), ("arith.subf", 2, np.subtract), ("arith.mulf", 2, np.multiply),
    ("arith.divf", 2, np.divide), ("arith.negf", 1, np.negative), ("arith.maximumf", 2, np.maximum),
    ("arith.minimumf", 2, np.minimum), ("arith.maxnumf", 2, np.fmax), ("arith.minnumf", 2, np.fmin),
    ("math.exp", 1, np.exp), ("math.log", 1, np.log), ("math.sqrt", 1, np.sqrt), ("math.tanh", 1, np.tanh),
    ("math.rsqrt", 1, lambda each: 1 / np.sqrt(each)), ("math.absf", 1, np.abs),
    ("math.erf", 1, np.vectorize(math.erf)), ("arith.extf", 1, np.positive), ("arith.truncf", 1, np.positive),
)  # fmt: skip
PREDICATES = {
    1: lambda a, b: a == b, 2: lambda a, b: a > b, 3: lambda a, b: a >= b, 4: lambda a, b: a < b,
    5: lambda a, b: a <= b, 9: lambda a, b: ~(a <= b), 10: lambda a, b: ~(a < b), 11: lambda a, b: ~(a >= b),
    12: lambda a, b: ~(a > b), 13: lambda a, b: a != b,
}  # fmt: skip
"""By number; the last five are true for a NaN."""


@pytest.fixture
def computed(monkeypatch):
    """What the source of a nest writes to so many elements; of sums, what its parts add up to."""
    workgroup = [0]
    install(monkeypatch, lambda: workgroup[0])

    def run(nest, inputs, elements):
        function, tiles = function_of(nest, len(inputs))
        parts = tiles.apart or 1
        out = np.full(elements * parts, np.nan, np.float32)
        run_all(function, tiles, [*inputs, out], workgroup)
        return out.reshape(elements, parts).sum(-1)

    return run


def data(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("wanted", [528, 3, 1])  # workgroups: sums are in parts, of clusters, whole
@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((7, 300), (0,)), ((300, 7), (1,)), ((5, 9, 70), (1,)), ((3, 2100, 2), (0, 2)), ((6, 4, 5), ()),
        ((1, 4097), (0,)), ((600, 40), (1,)),
    ],
)  # fmt: skip
def test_sums(computed, monkeypatch, sizes, kept, wanted):
    """Over any loops, of the squares of an input."""
    monkeypatch.setattr(nest_module, "WORKGROUPS", wanted)
    x, written = data(*sizes), [None] * len(sizes)
    shape = [sizes[each] for each in kept]
    for place, loop in enumerate(kept):
        written[loop] = math.prod(shape[place + 1 :])
    strides = tuple(each // x.itemsize for each in x.strides)
    nest = Nest(sizes, (Access(0, 0, strides),), (READ, Term("arith.mulf", "f32", (0, 0))), tuple(written))
    summed = tuple(each for each in range(len(sizes)) if each not in kept)
    sums = np.square(x.astype(float)).sum(summed)
    np.testing.assert_allclose(computed(nest, [x], sums.size), sums.reshape(-1), rtol=1e-5)


@pytest.mark.parametrize(("op", "count", "wanted"), OPS, ids=[op for op, *_ in OPS])
def test_scalar_ops(computed, op, count, wanted):
    """Of an image and a vector for each of its rows."""
    x, y = np.abs(data(30, 50)) + 0.5, data(7 + 50)
    if op in ("arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf"):
        x[::3] = np.nan
    inputs = (Access(0, 0, (50, 1)), Access(1, 7, (0, 1)))
    terms = (READ, Term(INPUT, "f32", input=1), Term(op, "f32", (0, 1)[:count]))
    found = computed(Nest((30, 50), inputs, terms, (50, 1)), [x, y], x.size)
    given = (x.astype(float), np.broadcast_to(y[7:], x.shape).astype(float))[:count]
    np.testing.assert_allclose(found.reshape(x.shape), wanted(*given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons(computed, predicate):
    """Also of what is no number."""
    x, y = data(20, 33).round(), data(33).round()
    x[::4] = np.nan
    terms = (
        READ, Term(INPUT, "f32", input=1), Term("arith.cmpf", "i1", (0, 1), value=float(predicate)),
        Term(CONSTANT, "f32", value=2.5), Term(CONSTANT, "f32", value=-math.inf),
        Term("arith.select", "f32", (2, 3, 4)),
    )  # fmt: skip
    nest = Nest((20, 33), (Access(0, 0, (33, 1)), Access(1, 0, (0, 1))), terms, (33, 1))
    wanted = np.where(PREDICATES[predicate](x, y), 2.5, -np.inf)
    assert np.array_equal(computed(nest, [x, y], x.size), wanted.reshape(-1))


@pytest.mark.parametrize("rows", [3, 40])
def test_what_is_joined_is_read_where_it_is(computed, rows):
    """The first rows are of one input and the rest of another, each with its own layout."""
    first, rest = data(rows, 60), data(60, 9)  # the second is transposed
    accesses = (Access(0, 0, (60, 1)), Access(1, -rows, (1, 9)))
    terms = (
        Term(INSIDE, "i1"), Term(INPUT, "f32", (0,), input=0), Term(OUTSIDE, "i1"),
        Term(INPUT, "f32", (2,), input=1), Term("arith.select", "f32", (0, 1, 3)),
    )  # fmt: skip
    nest = Nest((rows + 9, 60), accesses, terms, (60, 1), (Range(0, (1, 0), 0, rows),))
    wanted = np.concatenate([first, rest.T])
    assert np.array_equal(computed(nest, [first, rest], wanted.size), wanted.reshape(-1))


def test_a_transposed_result(computed):
    x = data(6, 35, 4)
    nest = Nest((6, 35, 4), (Access(0, 0, (140, 4, 1)),), (READ, Term("arith.negf", "f32", (0,))), (1, 24, 6))
    assert np.array_equal(computed(nest, [x], x.size), -x.transpose(1, 2, 0).reshape(-1))
