"""The Space: an `iree_codegen.smt.constraints` op, the questions that it is asked, and z3, which judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import z3
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu
from numpy.typing import NDArray

from iree_tuner.compiler.unbound import pipeline_of
from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.space.configuration import Assignment, Configuration, OpConfiguration
from iree_tuner.space.constraints import COMPANIONS, VARIANT, only_constraints
from iree_tuner.space.interpreter import (
    Array,
    Assertion,
    ConstraintProgram,
    Domains,
    Expr,
    find_domains,
    grid,
    pinned,
    read_program,
    smtlib,
)
from iree_tuner.space.llvm_cpu.attributes import cpu_configuration
from iree_tuner.space.sampling import Join, Members, Rows, enumerate_members, shuffled
from iree_tuner.space.spirv.attributes import spirv_configuration

_TRACKED = "iree_tuner_assert_"
_CONFLICT_MS = 2000


class Judge:
    """A solver with the constraints of one op, as the compiler itself exports them."""

    def __init__(self, op: ir.Operation) -> None:
        self._solver: Any = _solver()
        self._solver.from_string(smtlib(op))
        self._assertions: list[Any] = list(self._solver.assertions())

    def accepts(self, values: Mapping[str, int]) -> bool:
        """Some choice of whatever is not in `values` satisfies every assert."""
        return self._solver.check(*_equalities(values)) == z3.sat

    def complete(self, values: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int] | None:
        """Values for all of `names` that agree with the given ones; None if there are none."""
        if self._solver.check(*_equalities(values)) != z3.sat:
            return None
        model: Any = self._solver.model()
        return {name: model.eval(z3.Int(name), model_completion=True).as_long() for name in names}

    def failing(self, values: Mapping[str, int]) -> list[int]:
        """Places of the asserts that cannot hold, each taken by itself."""
        fixed = _equalities(values)
        found: list[int] = []
        for place, assertion in enumerate(self._assertions):
            solver: Any = _solver()
            solver.add(assertion)
            if solver.check(*fixed) != z3.sat:
                found.append(place)
        return found

    def conflict(self, values: Mapping[str, int]) -> list[int]:
        """Places of a few asserts that cannot hold together; empty if they can, or if z3 does not know.

        The set is minimal: without any one of them the others hold, or z3 gives up.
        """
        solver: Any = _solver()
        solver.set("timeout", _CONFLICT_MS)
        solver.add(*_equalities(values))
        names = [z3.Bool(f"{_TRACKED}{place}") for place in range(len(self._assertions))]
        for name, assertion in zip(names, self._assertions, strict=True):
            solver.add(z3.Implies(name, assertion))
        if solver.check(*names) != z3.unsat:
            return []
        core: list[Any] = list(solver.unsat_core())
        for name in tuple(core):
            fewer = [each for each in core if not each.eq(name)]
            if any(each.eq(name) for each in core) and solver.check(*fewer) == z3.unsat:
                core = list(solver.unsat_core())
        return sorted(int(str(name).removeprefix(_TRACKED)) for name in core)


def _solver() -> Any:  # noqa: ANN401 (z3 has no types)
    """A solver that leaves Ctrl-C to Python. By default z3 takes the signal and is unusable afterwards."""
    solver: Any = z3.Solver()
    solver.set("ctrl_c", False)
    return solver


def _equalities(values: Mapping[str, int]) -> list[Any]:
    return [z3.Int(name) == value for name, value in values.items()]


# From a constraints op and an assignment to the attributes that a candidate sets.


_DECOMPOSITION = "decomposition_config"
_TRANSLATION_ENTRIES = ("iree_codegen.denormal_fp_math_f32", "llvm_func_attrs")
"""Entries of a flat knobs dictionary that the compiler would put into the lowering config, but belong to the
configuration of the translation info."""


def materialize(op: iree_codegen.ConstraintsOp, assignment: Mapping[str, int]) -> Configuration:
    """Substitute the knobs. The compiler does it for its own pipelines; llvm-cpu's has no support there."""
    with op.operation.context, ir.Location.unknown(op.operation.context):
        pipeline = op.pipeline  # reading it searches for modules each time (3.13)
        kind, _ = pipeline_of(pipeline)
        if kind == "iree_cpu.pipeline":
            return cpu_configuration(pipeline, substitute(ir.DictAttr(op.knobs), assignment))
        if kind == "iree_gpu.spirv_pipeline":
            return spirv_configuration(pipeline, substitute(ir.DictAttr(op.knobs), assignment))
        values = dict(assignment)
        optional = {  # entries that may be left out: knobs that have a unit attribute among their options
            named.name
            for named in ir.DictAttr(op.knobs)
            if isinstance(knob := named.attr, iree_codegen.OneOfKnobAttr)
            and ir.UnitAttr.get() in list(knob.options)
        }
        info = _sort_entries(iree_codegen.materialize_compilation_info(op.operation, values), optional)
        knobs, companions = ir.DictAttr(op.knobs), ir.DictAttr.get({})
        if COMPANIONS in knobs:
            found = iree_codegen.materialize_configuration_attr(op.operation, COMPANIONS, values)
            companions = ir.DictAttr(found)
        configs = {each.name: iree_gpu.LoweringConfigAttr.get(ir.DictAttr(each.attr)) for each in companions}
        ops = Configuration.of(info, configs).ops
        if _DECOMPOSITION in knobs:
            two = iree_codegen.materialize_configuration_attr(op.operation, _DECOMPOSITION, values)
            ops = (*ops, OpConfiguration.of("root", _DECOMPOSITION, two))
        return Configuration(ops)


def _sort_entries(materialized: ir.Attribute, optional: set[str]) -> ir.Attribute:
    """Move what belongs to the translation info there, and leave out what a unit attribute stands for."""
    info = iree_codegen.CompilationInfoAttr(materialized)
    lowering = iree_gpu.LoweringConfigAttr(info.lowering_config)
    entries = {
        named.name: named.attr
        for named in ir.DictAttr(lowering.attributes)
        if named.name != COMPANIONS and not (named.name in optional and isinstance(named.attr, ir.UnitAttr))
    }
    kept = {name: entries.pop(name) for name in _TRANSLATION_ENTRIES if name in entries}
    translation = iree_codegen.TranslationInfoAttr(info.translation_info)
    if kept:
        configuration = translation.configuration
        options = {} if configuration is None else {n.name: n.attr for n in ir.DictAttr(configuration)}
        translation = iree_codegen.TranslationInfoAttr.get(
            translation.pass_pipeline,
            translation.codegen_spec,
            list(translation.workgroup_size),
            translation.subgroup_size,
            ir.DictAttr.get(options | kept),
        )
    config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(entries))
    return iree_codegen.CompilationInfoAttr.get(config, translation)


def substitute(attribute: ir.DictAttr, assignment: Mapping[str, int]) -> dict[str, object]:
    """A knobs dictionary as plain data, each knob replaced by its value."""
    return {named.name: _substitute(named.attr, assignment) for named in attribute}


def _substitute(attribute: ir.Attribute, assignment: Mapping[str, int]) -> object:
    if isinstance(attribute, iree_codegen.IntKnobAttr):
        return assignment[attribute.name]
    if isinstance(attribute, ir.DictAttr):
        return substitute(attribute, assignment)
    if isinstance(attribute, ir.ArrayAttr):
        return [_substitute(element, assignment) for element in attribute]
    return ir.IntegerAttr(attribute).value


# The members next to an assignment: one knob moved, and what follows from it.


_MOVE = "#move"  # a column that says from which move a row comes


def neighbors(join: Join, assignment: Mapping[str, int]) -> list[list[int]]:
    """The values of all knobs in each member in which one leader has the nearest value below or above.

    Every value of each leader is tried, all at once; the nearest that makes a member is taken.
    """
    leaders = join.leaders
    table, moved = _moves(join, assignment)
    if not len(table):
        return []
    columns = {name: table[:, place] for place, name in enumerate(leaders)}
    rows = join.admit(Rows(len(table), columns | {_MOVE: np.arange(len(table))}))
    values = join.values(rows).tolist()
    knobs = [moved[place] for place in rows.column(_MOVE).tolist()]
    found: list[list[int]] = []
    for knob, name in enumerate(leaders):
        column = join.knobs.index(name)
        there = [row for row, each in zip(values, knobs, strict=True) if each == knob]
        found.extend([row for row in there if row[column] < assignment[name]][-1:])
        found.extend([row for row in there if row[column] > assignment[name]][:1])
    return found


def _moves(join: Join, assignment: Mapping[str, int]) -> tuple[Array, list[int]]:
    """The leaders' indices after each move, in the order of leaders and values; and which leader moved."""
    domains = [join.relations.domains[name] for name in join.leaders]
    values = [assignment[name] for name in join.leaders]
    here = [_place(domain, value) for domain, value in zip(domains, values, strict=True)]
    moves: list[list[int]] = []
    moved: list[int] = []
    for knob, domain in enumerate(domains):
        if any(index < 0 for other, index in enumerate(here) if other != knob):
            continue  # another knob has a value that no member has
        steps = [step for step in range(len(domain)) if step != here[knob]]
        moves.extend([*here[:knob], step, *here[knob + 1 :]] for step in steps)
        moved.extend([knob] * len(steps))
    return np.array(moves, np.intp), moved


def _place(domain: Array, value: int) -> int:
    return int(np.searchsorted(domain, value)) if value in domain else -1


# Secondary knobs: options of a pipeline that are worth trying on the best tiles, and not before.
#
# Such a knob changes how the code of a tile is arranged, not what the tile is; together they multiply a
# space. Each has a plain value, which stands for the compiler's behavior without the option.
#
# Not secondary are knobs that decide what the tile is, or that many of the best have: tiles of any level,
# also those for caches; where operands are held (`promote`, `promote_qk`, `promote_value`, and `pad_rows`,
# which is nothing without it); and peeling on CPUs. In 13 recordings of spaces with cache tiles, the best
# member has one in 9 and peels in 6. The best member without them has 72 to 100 % of its speed, the best
# that is not peeled 65 to 100 %, and where tiles do not divide, peeled members are faster in the median in
# 12 of 13.


_PLAIN: Mapping[str, int] = {
    # gpu/options.py, gpu/scaled.py
    "no_reduce_shared_memory_bank_conflicts": 0,  # rows in shared memory are padded
    "reorder_workgroups_strategy": 0,
    "flush_denormals": 0,
    "waves_per_eu": 0,
    "prefetch_num_stages": 2,  # KernelConfig.cpp asks for two wherever the pipeline prefetches
    "swizzle": 1,  # what the compiler chooses; it takes less shared memory than padded rows
    # spirv/tiling.py, spirv/matmul.py
    "swap_workgroups": 0,
    "subgroup_size": 0,
    "pipeline_depth": 0,
    "store_stage": 0,
}

_PLAIN_OF_PIPELINE: Mapping[str, Mapping[str, int]] = {
    # It takes a depth of 0 for 1, and with stage 1 keeps a single buffer: the one pair that is always legal.
    "MatmulPromoteVectorize": {"pipeline_depth": 1, "store_stage": 1}
}


_MOST_TRIED = 4096
"""Combinations of open knobs, to see what an assert says for all of them."""


@dataclass(frozen=True)
class Knob:
    """A choice. `values` are those that occur in some legal assignment, ascending."""

    name: str
    values: tuple[int, ...]


class Space:
    """The legal assignments of a workload's knobs, by the constraints op `op`, or the only one of `module`.

    Counting, enumerating and `knobs` hold all members in memory (eight bytes each), up to
    `sampling.MEMBER_LIMIT`. Beyond that they raise TunerError; all other questions are answered for a space
    of any size.
    """

    def __init__(
        self, workload: Workload, module: ir.Module, op: iree_codegen.ConstraintsOp | None = None
    ) -> None:
        self.workload = workload
        self.module = module
        self.op: iree_codegen.ConstraintsOp = op or only_constraints(module)
        self.program: ConstraintProgram = read_program(self.op.operation)

    @property
    def text(self) -> str:
        """The constraints as IR."""
        return str(self.module)

    @cached_property
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
        return self.program.knobs

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        domains = self._members.domains
        return tuple(Knob(name, tuple(int(v) for v in domains[name])) for name in self.names)

    def count(self) -> int:
        """The exact number of legal assignments."""
        return len(self._members)

    def enumerate(self) -> Iterator[Assignment]:
        """Every legal assignment, in the lexicographic order of the knobs' values."""
        for start in range(0, self.count(), 4096):
            places = np.arange(start, min(start + 4096, self.count()))
            yield from map(self._assignment, self._members.values(places).tolist())

    def shuffled(self, seed: int) -> Iterator[Assignment]:
        """Every legal assignment once, in a uniformly random order; the same for the same seed.

        The first ones come at once for a space of any size.
        """
        return map(self._assignment, shuffled(self._join, lambda: self._members, seed))

    @cached_property
    def secondary(self) -> Mapping[str, int]:
        """The knobs that are worth trying only on good tiles, with their plain values."""
        values, domains = (
            {**_PLAIN, **_PLAIN_OF_PIPELINE.get(self.pipeline, {})},
            self._join.relations.domains,
        )
        return {  # one with a single value, or never the plain one, is not secondary
            name: value
            for name, value in values.items()
            if name in domains and len(domains[name]) > 1 and value in domains[name]
        }

    def is_plain(self, assignment: Mapping[str, int]) -> bool:
        return all(assignment.get(name) == value for name, value in self.secondary.items())

    def shuffled_plain(self, seed: int) -> Iterator[Assignment]:
        """The plain members as `shuffled` orders them."""
        if not self.secondary:
            return self.shuffled(seed)
        join = self._plain_join
        return map(self._assignment, shuffled(join, lambda: enumerate_members(join), seed))

    def sample(self, n: int, seed: int) -> list[Assignment]:
        """The first `n` of `shuffled(seed)`: distinct, and uniform over the legal set."""
        return list(islice(self.shuffled(seed), n))

    def domain(self, name: str) -> tuple[int, ...]:
        """The values of a knob that asserts about it alone allow, ascending; some may be in no member."""
        return tuple(int(value) for value in self._own_domains[name])

    def never_holds(self, condition: Expr, values: Mapping[str, int]) -> bool:
        """Whether a condition cannot hold with these values, for any values of the open knobs."""
        found = self._each(condition, values)
        return found is not None and not found.any()

    def contains(self, assignment: Mapping[str, int]) -> bool:
        """Whether z3 finds the assignment legal. False when a knob is missing, or one is unknown."""
        return set(assignment) == set(self.names) and self._judge.accepts(assignment)

    def violations(self, assignment: Mapping[str, int]) -> list[str]:
        """Messages of the asserts that fail; empty for a legal assignment."""
        missing = [f"no value for the knob '{name}'" for name in self.names if name not in assignment]
        unknown = [f"unknown knob '{name}'" for name in assignment if name not in self.names]
        if missing or unknown:
            return missing + unknown
        return self.violations_of_part(assignment)

    def complete(self, values: Mapping[str, int]) -> Assignment | None:
        """A member with these values, which may leave knobs open; None if there is none."""
        found = self._judge.complete(values, self.names)
        return Assignment.of(found) if found is not None else None

    def violations_of_part(self, values: Mapping[str, int]) -> list[str]:
        """Why no member has these values, which may leave knobs open; empty if one has.

        The messages of the asserts that fail, each taken by itself; if there are none, one message that joins
        the messages of a few asserts that cannot hold together.
        """
        asserts = enumerate(self.program.assertions)
        failing = {place for place, each in asserts if self.never_holds(each.condition, values)}
        alone = self._messages(sorted(failing.union(self._judge.failing(values))), values)
        if alone or self._judge.accepts(values):
            return alone
        together = "; ".join(self._messages(self._judge.conflict(values), values))
        return [f"not in combination: {together}" if together else "no legal assignment has these values"]

    def configuration(self, assignment: Mapping[str, int]) -> Configuration:
        """The attributes that an assignment stands for. Raises TunerError if a knob has no value."""
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
        """Domains by asserts about one variable alone: other limits have other reasons."""
        return find_domains(self.program, together=False)

    @cached_property
    def _join(self) -> Join:
        return Join(self.program)

    @cached_property
    def _plain_join(self) -> Join:
        return Join(pinned(self.program, self.secondary))

    @cached_property
    def _members(self) -> Members:
        return enumerate_members(self._join)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.op.operation)

    def _assignment(self, values: Sequence[int]) -> Assignment:
        return Assignment.of(dict(zip(self.names, values, strict=True)))

    def _each(self, node: Expr, values: Mapping[str, int]) -> NDArray[np.generic] | None:
        """The possible values of an expression, for all values of open operands; None if they are many."""
        domains = self._own_domains
        open_ones = [name for name in sorted(node.support) if name not in values]
        if any(name not in domains for name in open_ones):
            return None
        if math.prod(len(domains[name]) for name in open_ones) > _MOST_TRIED:
            return None
        known = {name: np.asarray(value) for name, value in values.items()}
        return np.unique(node.evaluate(grid(tuple(open_ones), domains) | known))

    def _messages(self, places: Iterable[int], assignment: Mapping[str, int]) -> list[str]:
        return [self._message(self.program.assertions[place], assignment) for place in places]

    def _message(self, assertion: Assertion, assignment: Mapping[str, int]) -> str:
        message = assertion.message
        for node in assertion.shown:
            found = self._each(node, assignment)
            shown = str(int(found[0])) if found is not None and len(found) == 1 else "?"
            message = message.replace("{}", shown, 1)
        return message
