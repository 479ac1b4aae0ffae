"""A script's knobs as a search space: constraint IR, as every space is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.ops.workload import Workload
from iree_tuner.script.script import Script
from iree_tuner.search.cost.terms import Array
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.constraints import build_constraints, knob, knob_attribute
from iree_tuner.space.expressions import require
from iree_tuner.space.space import Space


def script_space(script: Script, workload: Workload, context: ir.Context) -> Space:
    """The values that a script's knobs may have, for a workload that it lowers.

    Args:
        script: with one knob at least.
        workload: what the space is for; the script says the same of every workload.
        context: one with all dialects loaded.
    """

    def fill() -> Mapping[str, ir.Attribute]:
        declared = {each.name: knob(each.name, each.values, "a value that the script names")
                    for each in script.knobs}  # fmt: skip
        for each in script.knobs:
            if each.divides:
                around, inside = declared[each.divides], declared[each.name]
                message = f"{each.name} ({{}}) must divide {each.divides} ({{}})"
                require((around % inside).equals(0), message, inside, around)
        return {name: knob_attribute(name) for name in declared}

    with context:
        pipeline = iree_codegen.TransformDialectCodegenPipelineAttr.get()
    return Space(workload, build_constraints(pipeline, fill, context))


def own_choice(script: Script) -> Assignment:
    """Where a search sets out from: the values in the script."""
    return Assignment.of(script.defaults)


class ScriptLandscape:
    """A script's space as strategies see it. Nothing is known of it beforehand: scripts differ."""

    kind = "script"

    def __init__(self, space: Space) -> None:
        self._space = space
        self.features = space.names

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """As `Space` shuffles."""
        return self._space.shuffled(seed)

    def staged(self, seed: int) -> Iterator[Assignment]:
        """The same: a script has no secondary options."""
        return self._space.shuffled(seed)

    def is_plain(self, assignment: Assignment) -> bool:
        """Always."""
        del assignment
        return True

    def encode(self, assignments: Sequence[Assignment]) -> Array:
        """A row of logarithms for each."""
        rows = [self._space.encode(each) for each in assignments]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.features))

    def neighbors(self, assignment: Assignment) -> list[Assignment]:
        """As `Space` finds them."""
        return self._space.neighbors(assignment)

    def guess(self, rows: Array) -> Array | None:
        """None."""
        del rows
