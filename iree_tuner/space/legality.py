"""Whether a configuration that a person wrote is legal: judged by constraints, also if no search would try
it.

A space leaves out what its search does not try. A configuration in a program or a spec may have such values.
It is legal as long as it breaks none of the constraints that the compiler insists on (`ruling`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
from iree.compiler import ir

from iree_tuner.space.compilers_choice import Written, read_written
from iree_tuner.space.gpu.constraints_draft import Draft
from iree_tuner.space.interpreter import (
    Array,
    Assertion,
    Bounds,
    ConstraintProgram,
    Expr,
    conditions,
    find_bounds,
    solve,
)
from iree_tuner.space.rulings import CPU_RULINGS, GPU_RULINGS, SPIRV_RULINGS, Force
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits, Limits


@dataclass(frozen=True)
class ConfigurationFinding:
    """A finding about a configuration; `message` has the values, `rule` is the constraint without them.

    `severity` is `error` if the compiler refuses the configuration or makes wrong code of it, `warning` if it
    takes it although a constraint is broken, `unchecked` (with no rule) if nothing is known about it.
    """

    severity: Literal["error", "warning", "unchecked"]
    message: str
    rule: str = ""


@dataclass(frozen=True)
class Judgement:
    """The verdict of one space's constraints on a configuration; `violations` has errors first.

    Nothing is known if parts of it are `unread`, because the space has no knobs for them.
    """

    violations: tuple[ConfigurationFinding, ...] = ()
    unread: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def legal(self) -> bool:
        """Whether it breaks no rule; warnings do not count."""
        return not any(each.severity == "error" for each in self.violations)


class Rules:
    """Which of a space's constraints count for configurations that were not searched."""

    def __init__(self, space: Space, limits: Limits) -> None:
        own = len(space.program.assertions)
        if isinstance(limits, CpuLimits):
            ruling = next((each for each in CPU_RULINGS if each.applies(space)), None)
            self._space = space
            self._settle = partial(ruling.settle, space) if ruling is not None and ruling.settle else None
        else:
            module = _copied(space.module)
            draft = Draft(Space(space.workload, module).op, space.workload, limits)
            rulings = SPIRV_RULINGS if limits.codegen.spirv else GPU_RULINGS
            ruling = next((each for each in rulings if each.applies(draft)), None)  # without, all are rules
            if ruling is not None and ruling.extend is not None:
                with module.context, ir.Location.unknown(module.context), draft.end():
                    ruling.extend(draft)
            self._space = Space(space.workload, module)
            self._settle = None
        program = self._space.program
        self._asserted: list[tuple[Assertion, Force]] = []
        for place, assertion in enumerate(program.assertions):
            force: Force = "none" if assertion.of_search else "error"
            if place < own and ruling is not None and force == "error":
                force = ruling.force(assertion.message)
            if force != "none":
                self._asserted.append((assertion, force))
        self._dependent, self._condition = (ruling.only_where if ruling is not None else None) or ("", "")
        self._definitions = _definitions(program)

    def judge(self, written: Written) -> Judgement:
        """The verdict on a configuration that was not searched."""
        chosen = read_written(self._space, written)
        if chosen.misfits:
            return Judgement(unread=tuple(chosen.misfits), values=chosen.values)
        unread = [
            f"{chosen.places.get(name, name)} is {value}" for name, value in chosen.values.items()
            # A tile of 0 means no tile, and constraints do not cover it.
            if value < 0 or (value == 0 and name in self._space.names and 0 not in self._space.domain(name))
        ]  # fmt: skip
        if unread:
            return Judgement(unread=tuple(unread), values=chosen.values)
        found = self.violations(chosen.values)
        if places := chosen.places:  # the attributes' name of a knob: `workgroup[1]`, not `wg_1`
            names = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
            named = re.compile(rf"\b({names})\b")
            found = [replace(v, message=named.sub(lambda m: places[m[0]], v.message)) for v in found]
        return Judgement(tuple(found), values=chosen.values)

    def violations(self, values: Mapping[str, int]) -> list[ConfigurationFinding]:
        """The constraints that these values of the knobs break. Knobs without a value are left open."""
        settled = self._settle(values) if self._settle is not None else values
        asserted, of_rules = self._asserted, self._evaluation(settled)
        conditions = [each for each, _ in asserted if re.search(self._condition, each.message)]
        if self._condition and any(self._is_broken(each, *of_rules) for each in conditions):
            asserted = [each for each in asserted if not re.search(self._dependent, each[0].message)]
        found: list[ConfigurationFinding] = []
        severities: tuple[tuple[Literal["error", "warning"], Mapping[str, int]], ...] = (
            ("error", settled), ("warning", values),
        )  # fmt: skip
        for severity, looked_at in severities:
            evaluation = of_rules if looked_at is settled else self._evaluation(looked_at)
            for assertion, own in asserted:
                if own == severity and self._is_broken(assertion, *evaluation):
                    message = _message(assertion, looked_at, *evaluation)
                    found.append(ConfigurationFinding(severity, message, assertion.message))
        return found

    def _evaluation(self, values: Mapping[str, int]) -> tuple[dict[str, Array], dict[Expr, Array]]:
        """All that is known with these values, and a cache for expressions of it."""
        known: dict[str, Array] = {name: np.asarray(value) for name, value in values.items()}
        cache: dict[Expr, Array] = {}
        for name, node in self._definitions:
            if name not in known and node.support <= known.keys():
                known[name] = node.evaluate(known, cache)
        return known, cache

    def _is_broken(self, assertion: Assertion, known: Mapping[str, Array], cache: dict[Expr, Array]) -> bool:
        if assertion.condition.support <= known.keys():
            return not assertion.condition.evaluate(known, cache)
        return self._space.never_holds(assertion.condition, {n: int(v) for n, v in known.items()})


def _copied(module: ir.Module) -> ir.Module:
    """A copy. Not through bytecode: some attributes that contain knobs print but do not parse."""
    with module.context, ir.Location.unknown(module.context):
        copy = ir.Module.create()
        cloned = module.operation.clone()  # it holds the ops until they are moved
        for view in list(cloned.operation.regions[0].blocks[0].operations):
            view.operation.detach_from_parent()
            copy.body.append(view)
        return copy


def _definitions(program: ConstraintProgram) -> list[tuple[str, Expr]]:
    """Variables other than knobs, each as an expression of knobs and of variables before it."""
    parts = conditions(program)
    bounds = find_bounds((*program.knobs, *program.auxiliaries), parts)
    known = set(program.knobs)
    found: list[tuple[str, Expr]] = []
    while (next_one := next(_solved(parts, known, bounds), None)) is not None:
        found.append(next_one)
        known.add(next_one[0])
    return found


def _solved(parts: list[Expr], known: set[str], bounds: Bounds) -> Iterator[tuple[str, Expr]]:
    for part in parts:
        unknown = part.support - known
        if len(unknown) == 1:
            (name,) = unknown
            node = solve(part, name, bounds)
            if node is not None and node.support <= known:
                yield name, node


def _message(
    assertion: Assertion, values: Mapping[str, int], known: Mapping[str, Array], cache: dict[Expr, Array]
) -> str:
    message = assertion.message
    for node in assertion.shown:
        value = f"{int(node.evaluate(known, cache)):,}" if node.support <= known.keys() else "?"
        message = message.replace("{}", value, 1)
    if assertion.shown:
        return message
    sides = _sides(assertion.condition, known, cache)
    shown = [f"{name} = {values[name]}" for name in values if name in assertion.condition.support]
    return f"{message} ({', '.join([*sides, *shown])})" if sides or shown else message


def _sides(condition: Expr, known: Mapping[str, Array], cache: dict[Expr, Array]) -> list[str]:
    """Both sides of a comparison that does not hold, if they are more than a knob's value."""
    if condition.kind not in ("smt.int.cmp", "smt.eq") or not condition.support <= known.keys():
        return []
    if all(each.kind in ("variable", "constant") for each in condition.operands):
        return []
    left, right = (f"{int(each.evaluate(known, cache)):,}" for each in condition.operands[:2])
    return [f"{left} against {right}"]
