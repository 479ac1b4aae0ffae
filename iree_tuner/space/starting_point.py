"""Where in a space the compiler's own choice lies: the point from which a local search sets out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from iree_tuner.errors import TunerError
from iree_tuner.space.chosen import read_choice
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JointSpace
from iree_tuner.space.space import Space

# The compiler's own choice as an assignment: read off its attributes, completed by the judge.


@dataclass(frozen=True)
class Default:
    """Where the compiler's choice lies.

    Attributes:
        assignment: the choice as a member of the space; None when it is outside.
        reasons: why it is outside: the constraints that it breaks, or what of it has no knob.
    """

    assignment: Assignment | None
    reasons: tuple[str, ...] = ()


def find_default(
    space: Space, lowering_config: str, translation_info: str, decomposition_config: str = ""
) -> Default:
    """The compiler's choice in a space.

    Args:
        space: of the workload.
        lowering_config: the root op's, printed, as the compiler chose it.
        translation_info: the function's, printed.
        decomposition_config: an attention's, printed; without it, the knobs of its two multiplications
            take any values that fit.
    """
    chosen = read_choice(space, lowering_config, translation_info, decomposition_config)
    if chosen.misfits:
        return Default(None, tuple(chosen.misfits))
    full = space.complete(chosen.inherited | chosen.values) or space.complete(chosen.values)
    return Default(full, () if full is not None else tuple(space.violations_of_part(chosen.values)))


def parse_assignment(text: str) -> Assignment:
    """Read `{"wg_0": 64}` or `wg_0=64 wg_1=64` (commas or spaces). Raises TunerError."""
    try:
        if text.lstrip().startswith("{"):
            return Assignment.of(json.loads(text))
        pairs = (item.partition("=") for item in re.split(r"[,\s]+", text.strip()) if item)
        return Assignment.of({name: int(value) for name, _, value in pairs})
    except (ValueError, TypeError, AttributeError):
        raise TunerError(
            f"not an assignment: {text!r}", hint='write it as wg_0=64,wg_1=128 or as {"wg_0": 64}'
        ) from None


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
