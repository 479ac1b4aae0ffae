"""z3, the judge of legality: asked about one assignment at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import z3
from iree.compiler import ir

from iree_tuner.space.interpreter import smtlib

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

    def each_model(self, names: tuple[str, ...]) -> Iterator[tuple[int, ...]]:
        solver: Any = _solver()
        solver.add(self._assertions)
        while solver.check() == z3.sat:
            model: Any = solver.model()
            values = [model.eval(z3.Int(name), model_completion=True).as_long() for name in names]
            yield tuple(values)
            solver.add(z3.Or([z3.Int(n) != v for n, v in zip(names, values, strict=True)]))


def _solver() -> Any:  # noqa: ANN401 (z3 has no types)
    """A solver that leaves Ctrl-C to Python. By default z3 takes the signal and is unusable afterwards."""
    solver: Any = z3.Solver()
    solver.set("ctrl_c", False)
    return solver


def _equalities(values: Mapping[str, int]) -> list[Any]:
    return [z3.Int(name) == value for name, value in values.items()]
