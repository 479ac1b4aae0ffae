"""The compiler's own choice as an assignment: read off its attributes, completed by the judge."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from iree_tuner.errors import TunerError
from iree_tuner.space.chosen import read_choice
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.space import Space


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
