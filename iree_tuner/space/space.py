"""The Space: an `iree_codegen.smt.constraints` op, and the questions that can be asked of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen
from numpy.typing import NDArray

from iree_tuner.compiler.unbound import pipeline_of
from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.space.domains import Domains, find_domains
from iree_tuner.space.enumeration import Members, enumerate_members
from iree_tuner.space.interpreter import Assertion, Node, Program, pinned, read_program
from iree_tuner.space.join import Join
from iree_tuner.space.judge import Judge
from iree_tuner.space.materialize import materialize
from iree_tuner.space.moves import neighbors
from iree_tuner.space.sampling import shuffled
from iree_tuner.space.secondary import plain_values

_MOST_TRIED = 4096
"""Combinations of open knobs, to see what an assert says for all of them."""

VARIANT = "iree_tuner.variant"
"""Attribute of a constraints op that tells it from another one of the same pipeline."""


@dataclass(frozen=True)
class Knob:
    """Something to choose. `values` are the values that occur in some legal assignment, ascending."""

    name: str
    values: tuple[int, ...]


class Space:
    """The legal assignments of a workload's knobs.

    Counting, enumerating and `knobs` hold all members in memory (eight bytes each), up to
    `enumeration.MEMBER_LIMIT` of them; a larger space raises TunerError there, and answers everything else.

    Args:
        workload: what the space is for.
        module: a module with exactly one constraints op, or with more when `op` is given.
        op: the constraints op; `module` keeps it alive.
    """

    def __init__(
        self, workload: Workload, module: ir.Module, op: iree_codegen.ConstraintsOp | None = None
    ) -> None:
        self.workload = workload
        self._module = module
        self.op: iree_codegen.ConstraintsOp = op or _only_constraints(module)
        self._program: Program = read_program(self.op.operation)

    @property
    def module(self) -> ir.Module:
        """The module that holds the constraints op."""
        return self._module

    @property
    def text(self) -> str:
        """The constraints as IR."""
        return str(self._module)

    @property
    def pipeline(self) -> str:
        """The code generation pipeline that the space is for: `DoubleTilingExpert`, `TileAndFuse`."""
        return pipeline_of(self.op.pipeline)[1]

    @property
    def label(self) -> str:
        """The pipeline, with the variant where a workload has several spaces of one: `TileAndFuse:igemm`."""
        attributes = self.op.operation.attributes
        variant = ir.StringAttr(attributes[VARIANT]).value if VARIANT in attributes else ""
        return f"{self.pipeline}:{variant}" if variant else self.pipeline

    @property
    def names(self) -> tuple[str, ...]:
        """The knobs' names, in the order in which the op declares them."""
        return self._program.knobs

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """The knobs and their domains."""
        domains = self._members.domains
        return tuple(Knob(name, tuple(int(v) for v in domains[name])) for name in self.names)

    def count(self) -> int:
        """How many assignments are legal. Exact."""
        return len(self._members)

    def enumerate(self) -> Iterator[Assignment]:
        """Every legal assignment, in the lexicographic order of the knobs' values."""
        for start in range(0, self.count(), 4096):
            places = np.arange(start, min(start + 4096, self.count()))
            yield from map(self._assignment, self._members.values(places).tolist())

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """Every legal assignment once, in a uniformly random order; the same for the same seed.

        The first ones come at once, whatever the size of the space.
        """
        return map(self._assignment, shuffled(self._join, lambda: self._members, seed))

    @cached_property
    def secondary(self) -> Mapping[str, int]:
        """The knobs that are worth trying on good tiles only, and their plain values (`space.secondary`)."""
        return plain_values(self.pipeline, self._join.relations.domains)

    def is_plain(self, assignment: Mapping[str, int]) -> bool:
        """Whether every secondary knob has its plain value."""
        return all(assignment.get(name) == value for name, value in self.secondary.items())

    def plain(self, assignment: Mapping[str, int]) -> Assignment:
        """The member with the same primary knobs and plain secondary ones; where that is none, itself."""
        wanted = Assignment.of({**assignment, **self.secondary})
        if self.is_plain(assignment) or not self.contains(wanted):
            return Assignment.of(assignment)
        return wanted

    def shuffled_plain(self, seed: int) -> Iterator[Assignment]:
        """As `shuffled`, only the plain members."""
        if not self.secondary:
            return self.shuffled(seed)
        join = self._plain_join
        return map(self._assignment, shuffled(join, lambda: enumerate_members(join), seed))

    def sample(self, n: int, seed: int) -> list[Assignment]:
        """The first `n` of `shuffled(seed)`: distinct, and uniform over the legal set."""
        return list(islice(self.shuffled(seed), n))

    @property
    def program(self) -> Program:
        """The constraints as data."""
        return self._program

    def domain(self, name: str) -> tuple[int, ...]:
        """The values of a knob that asserts about it alone allow, ascending; not all occur in a member."""
        return tuple(int(value) for value in self._own_domains[name])

    def never_holds(self, condition: Node, values: Mapping[str, int]) -> bool:
        """Whether a condition cannot hold with these values, whatever the open ones are."""
        found = self._each(condition, values)
        return found is not None and not found.any()

    def contains(self, assignment: Mapping[str, int]) -> bool:
        """Whether z3 finds the assignment legal. False when a knob is missing, or one is unknown."""
        return set(assignment) == set(self.names) and self._judge.accepts(assignment)

    def violations(self, assignment: Mapping[str, int]) -> list[str]:
        """Why an assignment is illegal: the messages of the asserts that fail. Empty for a legal one."""
        missing = [f"no value for the knob '{name}'" for name in self.names if name not in assignment]
        unknown = [f"unknown knob '{name}'" for name in assignment if name not in self.names]
        if missing or unknown:
            return missing + unknown
        return self.violations_of_part(assignment)

    def complete(self, values: Mapping[str, int]) -> Assignment | None:
        """A member with these values, which may leave knobs open; None when there is none."""
        found = self._judge.complete(values, self.names)
        return Assignment.of(found) if found is not None else None

    def violations_of_part(self, values: Mapping[str, int]) -> list[str]:
        """Why no member has these values, which may leave knobs open; empty when one has.

        The messages of the asserts that fail, each taken by itself; if there are none, one message that joins
        the messages of a few asserts that cannot hold together.
        """
        failing = {*self._judge.failing(values), *self._broken_by(values)}
        alone = self._messages(sorted(failing), values)
        if alone or self._judge.accepts(values):
            return alone
        together = self._messages(self._judge.conflict(values), values)
        return [
            "not in combination: " + "; ".join(together)
            if together
            else "no legal assignment has these values"
        ]

    def configuration(self, assignment: Mapping[str, int]) -> Configuration:
        """The attributes that an assignment stands for. Raises TunerError when a knob has no value."""
        absent = [name for name in self.names if name not in assignment]
        if absent:
            raise TunerError(f"the assignment has no value for {', '.join(absent)}")
        return materialize(self.op, assignment)

    def encode(self, assignment: Mapping[str, int]) -> NDArray[np.float64]:
        """The assignment as numbers of similar size, for models: log2(1 + value), one a knob."""
        return np.log2(1.0 + np.array([assignment[name] for name in self.names], dtype=np.float64))

    def neighbors(self, assignment: Mapping[str, int]) -> list[Assignment]:
        """The legal assignments in which one knob has the next smaller or larger value that makes one.

        Knobs that an assert makes equal to an expression of others (the workgroup's size) follow these.
        """
        return [self._assignment(values) for values in neighbors(self._join, assignment)]

    @cached_property
    def _own_domains(self) -> Domains:
        """Of each variable for itself: what others leave of them is another reason than an assert's own."""
        return find_domains(self._program, together=False)

    @cached_property
    def _join(self) -> Join:
        return Join(self._program)

    @cached_property
    def _plain_join(self) -> Join:
        return Join(pinned(self._program, self.secondary))

    @cached_property
    def _members(self) -> Members:
        return enumerate_members(self._join)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.op.operation)

    def _assignment(self, values: Sequence[int]) -> Assignment:
        return Assignment.of(dict(zip(self.names, values, strict=True)))

    def _each(self, node: Node, values: Mapping[str, int]) -> NDArray[np.generic] | None:
        """The possible values of an expression, for all values of open operands; None where they are many."""
        domains = self._own_domains
        open_ones = [name for name in sorted(node.support) if name not in values]
        if any(name not in domains for name in open_ones):
            return None
        if math.prod(len(domains[name]) for name in open_ones) > _MOST_TRIED:
            return None
        known = {name: np.asarray(value) for name, value in values.items()}
        grid = np.meshgrid(*(domains[name] for name in open_ones), indexing="ij")
        return np.unique(node.evaluate({**known, **dict(zip(open_ones, grid, strict=True))}))

    def _broken_by(self, values: Mapping[str, int]) -> Iterator[int]:
        """Places of asserts that cannot hold with these values, whatever the open ones are."""
        for place, assertion in enumerate(self._program.assertions):
            if self.never_holds(assertion.condition, values):
                yield place

    def _messages(self, places: Sequence[int], assignment: Mapping[str, int]) -> list[str]:
        return [self._message(self._program.assertions[place], assignment) for place in places]

    def _message(self, assertion: Assertion, assignment: Mapping[str, int]) -> str:
        message = assertion.message
        for node in assertion.shown:
            found = self._each(node, assignment)
            shown = str(int(found[0])) if found is not None and len(found) == 1 else "?"
            message = message.replace("{}", shown, 1)
        return message


def _only_constraints(module: ir.Module) -> iree_codegen.ConstraintsOp:
    found = list(ir.get_ops_of_type(module, iree_codegen.ConstraintsOp))
    if len(found) != 1:
        raise TunerError(f"expected one iree_codegen.smt.constraints op, found {len(found)}")
    return found[0]
