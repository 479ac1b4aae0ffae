"""Several spaces as one: names there and back, and orders that leave nobody out."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space.made_workloads import matmul

from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JOINED, SPACE, JointSpace, named, unnamed

names = st.text("abcdefgh_0123", min_size=1, max_size=6).filter(lambda name: name != SPACE)
assignments = st.dictionaries(names, st.integers(-4, 4096), max_size=5)
labels = st.lists(st.text("ABC:xyz", min_size=1, max_size=8), min_size=1, max_size=4, unique=True)


@dataclass(frozen=True)
class Listed:
    """A space whose members are the numbers up to `size`, of one knob."""

    label: str
    size: int

    text = "text"
    workload = matmul(4, 4, 4)

    def count(self):
        return self.size

    def shuffled(self, seed):
        step = next(step for step in range(seed + 1, seed + 10**6) if self.size < 2 or step % self.size)
        order = sorted(range(self.size), key=lambda x: (x * step) % max(1, self.size))
        return (Assignment.of({"x": x}) for x in order)

    secondary = {}  # noqa: RUF012

    def is_plain(self, assignment):
        return True

    def shuffled_plain(self, seed):
        return self.shuffled(seed)

    def neighbors(self, assignment):
        return [
            Assignment.of({"x": x}) for x in (assignment["x"] - 1, assignment["x"] + 1) if 0 <= x < self.size
        ]

    def contains(self, assignment):
        return set(assignment) == {"x"} and 0 <= assignment["x"] < self.size

    def configuration(self, assignment):
        return (self.label, assignment["x"])


def joint(*sizes):
    return JointSpace([Listed(f"Space{place}", size) for place, size in enumerate(sizes)])


some = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda sizes: joint(*sizes))


@settings(deadline=None)
@given(labels, assignments, st.data())
def test_named_and_unnamed_are_inverse(each, knobs, data):
    label = JOINED.join(each)
    own = data.draw(st.sampled_from(each))
    assignment = unnamed(own, knobs, label)
    assert named(assignment, label) == (own, knobs)
    assert unnamed(*named(assignment, label), label) == assignment
    assert (SPACE in assignment) == (len(each) > 1)


def test_a_label_that_is_not_among_them_is_told():
    with pytest.raises(ValueError, match="not in list"):
        unnamed("C", {"x": 1}, "A+B")


@settings(deadline=None)
@given(some, st.integers(0, 20))
def test_shuffled_is_a_permutation_of_the_union(space, seed):
    order = list(space.shuffled(seed))
    expected = {(place, x) for place, each in enumerate(space.spaces) for x in range(each.size)}
    assert len(order) == len(expected) == space.count()
    assert {(space.split(each)[0], each["x"]) for each in order} == expected
    assert order == list(space.shuffled(seed))


@settings(deadline=None)
@given(some, st.integers(0, 20))
def test_the_spaces_take_turns(space, seed):
    """Among the first n of each, none has more than its part while others last."""
    seen = [0] * len(space.spaces)
    for each in space.shuffled(seed):
        seen[space.split(each)[0]] += 1
        lasting = [count for count, one in zip(seen, space.spaces, strict=True) if count < one.size]
        assert not lasting or max(seen) - min(lasting) <= 1


@settings(deadline=None)
@given(some, st.integers(0, 5))
def test_members_are_split_and_joined(space, seed):
    for each in space.shuffled(seed):
        place, member = space.split(each)
        assert space.join(place, member) == each
        assert space.contains(each)
        assert space.configuration(each) == (f"Space{place}", each["x"])
        assert named(each, space.label) == (f"Space{place}", dict(member))


@settings(deadline=None)
@given(some, st.integers(0, 5))
def test_neighbors_are_members_of_the_same_space(space, seed):
    for each in space.shuffled(seed):
        for other in space.neighbors(each):
            assert space.contains(other)
            assert space.split(other)[0] == space.split(each)[0]


@pytest.mark.parametrize(
    "knobs", [{"x": 1}, {"x": 1, SPACE: 2}, {"x": 1, SPACE: -1}, {"x": 9, SPACE: 0}, {SPACE: 0}]
)
def test_strangers_are_not_members(knobs):
    assert not joint(4, 4).contains(Assignment.of(knobs))


def test_one_space_alone_has_its_own_assignments():
    alone = joint(3)
    assert alone.label == "Space0"
    assert all(set(each) == {"x"} for each in alone.shuffled(0))
    assert alone.contains(Assignment.of({"x": 2}))


def test_equal_constraints_have_equal_fingerprints():
    assert joint(3, 4).fingerprint == joint(3, 4).fingerprint
    assert joint(3).fingerprint != joint(3, 4).fingerprint
