"""Names of configurations, and which are chosen."""

from __future__ import annotations

import pytest

from iree_tuner.errors import TunerError
from iree_tuner.space.configuration import Assignment
from iree_tuner.suite.backends.iree import choice_of, configuration_name, patterns_of


def test_numbered_knobs_are_one_list() -> None:
    knobs = Assignment.of({"vector_0": 8, "vector_1": 32, "peel": 1, "distribution_0": 64})
    assert configuration_name(knobs, "DoubleTiling") == "DoubleTiling_distribution_64_peel_1_vector_8x32"


def test_the_space_is_named_where_there_are_several() -> None:
    knobs = Assignment.of({"wg_m": 64, "space": 1})
    assert configuration_name(knobs, "VectorDistribute+TileAndFuse:igemm") == "TileAndFuse_igemm_wg_m_64"


@pytest.mark.parametrize(("text", "count", "patterns"), [("all", None, 0), ("7", 7, 0), ("a_.*,b", None, 2)])
def test_choices(text: str, count: int | None, patterns: int) -> None:
    found = choice_of(text)
    assert (found.count, len(found.patterns)) == (count, patterns)


def test_a_bad_expression_is_told() -> None:
    with pytest.raises(TunerError, match=r"'\(' is not a regular expression"):
        patterns_of("a,(")
