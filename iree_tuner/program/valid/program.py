"""The integers that a program's inputs and parameters may be. Runs in a worker."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import ops_in, symbol_of
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import session_for
from iree_tuner.program.dynamic import DimensionSize, size_for
from iree_tuner.program.parameters import parameters_held
from iree_tuner.program.valid.bodies import FUNCTIONS, number_of
from iree_tuner.program.valid.demand import Uses
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.known import Ranges


@dataclass(frozen=True)
class ValidInputs:
    """The integers that a program allows: for arguments by function and number, parameters by scope and key.

    `unclear` are ops that compute indices and are not understood.
    """

    arguments: tuple[tuple[str, tuple[tuple[int, Interval], ...]], ...] = ()
    parameters: tuple[tuple[tuple[str, str], Interval], ...] = ()
    unclear: tuple[str, ...] = ()

    def of(self, function: str, number: int) -> Interval | None:
        """The integers that an argument of a function may be; None if no use restricts it."""
        return dict(dict(self.arguments).get(function, ())).get(number)


def valid_inputs(data: bytes, name: str, sizes: tuple[DimensionSize, ...] = ()) -> ValidInputs:
    """Find them; nothing for a program that does not compile to the phase `input`."""
    session = session_for(())
    with session.context, ir.Location.unknown():
        try:
            module = session.parse(data, name)
            session.run(module, stop="input")
        except CompileError:  # the next compilation reports it
            return ValidInputs()
        return _of_module(module, sizes)


def _of_module(module: ir.Module, sizes: tuple[DimensionSize, ...]) -> ValidInputs:
    uses = Uses(module.operation, Ranges(lambda number, dimension: size_for(sizes, (number, dimension))))
    arguments: list[tuple[str, tuple[tuple[int, Interval], ...]]] = []
    parameters: dict[tuple[str, str], Interval] = {}
    for op in ops_in(module.body):
        if op.name in FUNCTIONS and op.regions[0].blocks:
            each = [
                (number_of(argument), found)
                for argument in op.regions[0].blocks[0].arguments
                if (found := uses.of(argument)) is not None
            ]
            arguments.append((symbol_of(op), tuple(each)))
    for op, parameter in parameters_held(module):
        found = uses.of_global(symbol_of(op)) if op.name == "util.global" else uses.of(op.results[0])
        if found is not None:
            old = parameters.get((parameter.scope, parameter.key))
            met = found if old is None else found.meet(old)
            parameters[parameter.scope, parameter.key] = found if met.is_empty else met
    return ValidInputs(tuple(arguments), tuple(parameters.items()), uses.unclear)
