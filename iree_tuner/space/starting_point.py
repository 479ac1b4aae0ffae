"""Where in a space the compiler's own choice lies: the point from which a local search sets out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iree_tuner.space.chosen import read_choice
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.default import find_default
from iree_tuner.space.joint import JointSpace
from iree_tuner.space.space import Space

_CANDIDATES = 512
_STEPS = 100


def starting_point(
    space: Space, lowering_config: str, translation_info: str, decomposition_config: str = ""
) -> Assignment | None:
    """The compiler's choice; where it is outside, a legal assignment that is near. Enumerates nothing.

    Args:
        space: of the workload.
        lowering_config: the root op's, printed, as the compiler chose it.
        translation_info: the function's, printed.
        decomposition_config: an attention's, printed.

    Returns:
        None for an empty space, and for a choice that has another pipeline or no knob's value.
    """
    known = read_choice(space, lowering_config, translation_info, decomposition_config).values
    if not known:
        return None
    default = find_default(space, lowering_config, translation_info, decomposition_config)
    return default.assignment or _nearest(space, known)


def starting_point_of(
    joint: JointSpace, lowering_config: str, translation_info: str, decomposition_config: str = ""
) -> Assignment | None:
    """The same for several spaces: in the one whose pipeline the choice has."""
    for place, space in enumerate(joint.spaces):
        found = starting_point(space, lowering_config, translation_info, decomposition_config)
        if found is not None:
            return joint.join(place, found)
    return None


def nearest_member(joint: JointSpace, wanted: Assignment) -> Assignment | None:
    """The assignment itself where it is a member, else one that is near; None where there is none.

    For assignments of another workload's space, whose tiles need not divide here.
    """
    if joint.contains(wanted):
        return wanted
    place, knobs = joint.split(wanted)
    if not 0 <= place < len(joint.spaces):
        return None
    found = _nearest(joint.spaces[place], dict(knobs))
    return None if found is None else joint.join(place, found)


def _nearest(space: Space, known: Mapping[str, int]) -> Assignment | None:
    """The nearest of a sample, and from there neighbor by neighbor as long as that gets nearer to `known`."""
    members = space.sample(_CANDIDATES, seed=0)
    if not members:
        return None
    weights = np.array([name in known for name in space.names], float)
    there = space.encode({name: known.get(name, 0) for name in space.names})

    def distance(member: Assignment) -> float:
        return float((np.abs(space.encode(member) - there) * weights).sum())

    near = min(members, key=distance)
    for _ in range(_STEPS):
        nearer = min(space.neighbors(near), key=distance, default=near)
        if distance(nearer) >= distance(near):
            break
        near = nearer
    return near
