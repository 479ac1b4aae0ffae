"""What a user wants searched: a part of the space, as constraints."""

from __future__ import annotations

import pytest
from gpu_workloads import SM_80
from space.made_workloads import matmul

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.space.build import Restriction, build_spaces, restricted
from iree_tuner.space.joint import JointSpace


@pytest.fixture
def spaces(context):
    """TileAndFuse by threads, and VectorDistribute for one row."""
    return build_spaces(matmul(1, 256, 1024), SM_80, context)


def test_members_are_those_of_the_space_with_these_values(spaces):
    whole = spaces[1]
    (part,) = restricted(spaces, Restriction.of(["VectorDistribute"], ["th_k=2,4", "subgroups=1"]))
    wanted = [each for each in whole.enumerate() if each["th_k"] in (2, 4) and each["subgroups"] == 1]
    assert list(part.enumerate()) == wanted != []
    outside = next(each for each in whole.enumerate() if each["th_k"] == 1)
    assert (
        part.violations(outside)
        == ["th_k (1) must be 2, 4", "subgroups (4) is to be 1"][: len(part.violations(outside))]
    )
    assert JointSpace([part]).fingerprint != JointSpace([whole]).fingerprint


def test_a_knob_of_one_pipeline_leaves_the_other_as_it_is(spaces):
    found = restricted(spaces, Restriction.of([], "th_k=4"))
    assert [each.pipeline for each in found] == [each.pipeline for each in spaces]
    assert found[0].count() == spaces[0].count()
    assert found[1].count() < spaces[1].count()


@pytest.mark.parametrize(
    ("pipelines", "knobs", "says"),
    [
        (["Nope"], [], "no space of the pipeline Nope, only of TileAndFuse, VectorDistribute"),
        ([], ["rows=4"], "no knob 'rows', only "),
        (["VectorDistribute"], ["th_k=3"], "no legal configuration has th_k=3"),
    ],
)
def test_what_is_not_there_is_told(spaces, pipelines, knobs, says):
    with pytest.raises(TunerError, match=says):
        restricted(spaces, Restriction.of(pipelines, knobs))


@pytest.mark.parametrize("text", ["th_k", "th_k=", "=4", "th_k=four"])
def test_values_are_numbers(text):
    with pytest.raises(UsageError, match="does not set values of a knob"):
        Restriction.of([], [text])
