"""Operands: maps as text, and what a tile touches."""

import itertools

import hand_made
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iree_tuner.search.cost.terms import Operand, operands_of, total


def workload(loops, types, maps):
    kinds = ("parallel",) * len(loops)
    return hand_made.workload("generic", "any", loops, kinds, types, maps)


def test_maps_are_read_with_and_without_their_attribute():
    maps = ("affine_map<(d0, d1, d2) -> (d0, d2)>", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)")
    left, right, result = operands_of(workload((4, 5, 6), ("f16", "i8", "f32"), maps))
    assert left == Operand((((0, 1),), ((2, 1),)), 16)
    assert right == Operand((((2, 1),), ((1, 1),)), 8)
    assert (result.loops, result.innermost, result.bits) == ({0, 1}, ((1, 1),), 32)


def test_windows_have_two_loops_in_a_dimension():
    maps = ("affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 + d3 * 3)>", "(d0, d1, d2, d3) -> (d0, d1)")
    window, _ = operands_of(workload((8, 8, 3, 3), ("f32", "f32"), maps))
    assert window.dims == (((0, 2), (2, 1)), ((1, 1), (3, 3)))
    tiles = np.array([[4.0, 2.0, 3.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    assert window.elements(tiles).tolist() == [(1 + 2 * 3 + 2) * (1 + 1 + 3 * 2), 1]
    assert window.bytes(tiles).tolist() == [4 * 9 * 8, 4]


@pytest.mark.parametrize("text", ["(d0) -> ()", "affine_map<(d0) -> ()>", "() -> ()"])
def test_an_operand_without_dimensions_is_one_element(text):
    (operand,) = operands_of(workload((4,), ("f32",), (text,)))
    assert operand.dims == operand.innermost == ()
    assert operand.bytes(np.array([[3.0]])).tolist() == [4.0]


def test_a_constant_index_is_one_element_wide():
    (operand,) = operands_of(workload((4,), ("f32",), ("(d0) -> (0, d0)",)))
    assert operand.elements(np.array([[3.0]])).tolist() == [3.0]


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(st.integers(0, 2), st.integers(1, 3), min_size=1, max_size=2), min_size=1, max_size=3
    ),
    st.tuples(*[st.integers(1, 4)] * 3),
)
def test_elements_span_what_the_tile_indexes(dims, tile):
    """Counted one by one: from the least to the largest index of each dimension, gaps included."""
    operand = Operand(tuple(tuple(sorted(dim.items())) for dim in dims), 32)
    points = list(itertools.product(*map(range, tile)))
    spans = [[sum(point[loop] * factor for loop, factor in dim.items()) for point in points] for dim in dims]
    expected = np.prod([max(span) - min(span) + 1 for span in spans])
    assert operand.elements(np.array([tile], float)).tolist() == [expected]


def test_total_counts_a_size_that_is_not_known_as_one():
    assert total((4, 0, 3)) == 12.0
    assert total(()) == 1.0
