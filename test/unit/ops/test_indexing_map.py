"""Indexing maps: what they say of loops and dimensions, and that they are written as MLIR writes them."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from iree_tuner.ops.indexing_map import IndexingMap, MapResult

MAPS = (
    "(d0, d1, d2) -> (d2, d0)",
    "(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 + d3 * 3)",
    "(d0, d1) -> (d0 floordiv 4, d1 mod 8, d0 ceildiv 2)",
    "(d0) -> (0, d0)",
    "(d0, d1) -> (d1 - d0 + 7)",
    "(d0, d1) -> ()",
    "() -> ()",
)


@pytest.mark.parametrize("text", MAPS)
def test_a_map_is_written_as_it_was_read(text: str) -> None:
    found = IndexingMap.parse(text)
    assert str(found) == text
    assert IndexingMap.parse(f"affine_map<{text}>") == found
    with ir.Context():
        assert str(found.to_ir()) == text
        assert IndexingMap.of(found.to_ir()) == found


@pytest.mark.parametrize("text", ["", "d0", "(d0) -> (d1)", "(d0) -> d0", "(d0, d1)", "(d0) -> (d0)>"])
def test_what_is_no_map_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an indexing map"):
        IndexingMap.parse(text)


def test_dimensions_are_loops_or_computed() -> None:
    found = IndexingMap.parse("(d0, d1, d2, d3) -> (d3, d0 * 2 + d2, d1)")
    assert (found.rank, found.dimensions, found.loops) == (4, (3, None, 1), (3, 0, 2, 1))
    assert found.results[1] == MapResult("d0 * 2 + d2", ((0, 2), (2, 1)))
    assert [found.dimension_of(loop) for loop in range(4)] == [None, 2, None, 0]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("d0 + d1", ((0, 1), (1, 1))),
        ("(d0 + d1) * 3", ((0, 3), (1, 3))),
        ("d0 - d1 * 2", ((0, 1), (1, -2))),
        ("(d0 * 6) floordiv 4", ((0, 1),)),
        ("d1 mod 2 + 5", ((1, 1),)),
        ("3", ()),
    ],
)
def test_terms_are_loops_with_their_factors(text: str, terms: tuple[tuple[int, int], ...]) -> None:
    assert IndexingMap.parse(f"(d0, d1) -> ({text})").results[0].terms == terms


@pytest.mark.parametrize(
    ("results", "picks"), [("d1, d0", True), ("", True), ("d0, d0", False), ("d0 + d1", False), ("0", False)]
)
def test_a_permutation_picks_each_loop_once(results: str, picks: bool) -> None:
    assert IndexingMap.parse(f"(d0, d1) -> ({results})").is_permutation == picks


@pytest.mark.parametrize(
    ("before", "after"), [("d0, d1 + d2, d2", "d1 + d2, d0, d2"), ("d0", "d0"), ("", "")]
)
def test_the_first_two_results_are_exchanged(before: str, after: str) -> None:
    found = IndexingMap.parse(f"(d0, d1, d2) -> ({before})").exchanged()
    assert str(found) == f"(d0, d1, d2) -> ({after})"


def test_a_map_through_loops_is_the_one_that_is_read() -> None:
    assert IndexingMap.through(3, (2, 0)) == IndexingMap.parse("(d0, d1, d2) -> (d2, d0)")
