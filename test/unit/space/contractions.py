"""Matrix multiplications as programs, and their spaces as the compiler emits them and with supplements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder, Built
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.space.emitted import emit
from iree_tuner.space.providers import SpaceRequest, provider
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target


@dataclass(frozen=True)
class Matmul:
    """A matrix multiplication. `accumulate`: the initial value is an argument instead of zeros."""

    m: int = 512
    n: int = 512
    k: int = 512
    element: str = "f16"
    result: str = "f32"
    accumulate: bool = False
    batch: int = 0

    @property
    def text(self) -> str:
        """The program as MLIR."""
        op, outer = ("batch_matmul", f"{self.batch}x") if self.batch else ("matmul", "")
        a = f"tensor<{outer}{self.m}x{self.k}x{self.element}>"
        b = f"tensor<{outer}{self.k}x{self.n}x{self.element}>"
        r = f"tensor<{outer}{self.m}x{self.n}x{self.result}>"
        start = "" if self.accumulate else _FILL.format(sum_=self.result, r=r)
        argument = f", %init: {r}" if self.accumulate else ""
        return (
            f"func.func @main(%a: {a}, %b: {b}{argument}) -> {r} {{\n{start}"
            f"  %r = linalg.{op} ins(%a, %b : {a}, {b}) outs(%init : {r}) -> {r}\n"
            f"  return %r : {r}\n}}\n"
        )


_FILL = """  %zero = arith.constant 0.0 : {sum_}
  %empty = tensor.empty() : {r}
  %init = linalg.fill ins(%zero : {sum_}) outs(%empty : {r}) -> {r}
"""

Edit = Callable[[str], str]
"""A change of a printed `compilation_info`."""


def unchanged(text: str) -> str:
    return text


def replacing(old: str, new: str) -> Edit:
    """The change that puts one text in the place of another, which must be there."""

    def edit(text: str) -> str:
        assert old in text, f"no '{old}' in {text}"
        return text.replace(old, new)

    return edit


class Prepared:
    """A program's only dispatch on a target, with its spaces as emitted and as supplemented."""

    def __init__(self, target: str, program: Matmul, workers: Workers) -> None:
        self.target = parse_target(target)
        self._builder = Builder(self.target, workers, timeout_s=240.0)
        (self.dispatch,) = extract(load_program(program.text), self.target, workers).dispatches
        assert self.dispatch.harness is not None
        assert self.dispatch.workload is not None
        emitted = emit(self.dispatch.harness, self.dispatch.workload, self.target, workers)
        assert emitted.modules, emitted.note
        self.emitted, self.supplemented = (self._spaces(emitted.modules, wanted) for wanted in (False, True))

    def _spaces(self, modules: tuple[bytes, ...], supplements: bool) -> dict[str, Space]:
        workload, limits = self.dispatch.workload, self.dispatch.limits
        assert workload is not None
        assert isinstance(limits, GpuLimits)
        request = SpaceRequest(workload, limits, CONTEXT, tuple(modules), supplements)
        with CONTEXT, ir.Location.unknown(CONTEXT):
            found = provider(workload.family).constraints(request)
        return {space.label: space for space in (Space(workload, module) for module in found)}

    def build(self, space: Space, values: Mapping[str, int], edit: Edit = unchanged) -> Built:
        """How the compilation of a member ends; the other knobs are whatever the space allows."""
        assignment = space.complete(values)
        assert assignment is not None, space.violations_of_part(values)
        assert self.dispatch.harness is not None
        (op,) = space.configuration(assignment).ops
        changed = OpConfiguration(op.label, op.attribute, edit(op.value))
        return self._builder.build(self.dispatch.harness, Configuration((changed,)))


CONTEXT = new_context()
_prepared: dict[tuple[str, Matmul], Prepared] = {}


def prepared(workers: Workers, target: str, program: Matmul = Matmul()) -> Prepared:
    """One `Prepared` for each program and target."""
    if (target, program) not in _prepared:
        _prepared[target, program] = Prepared(target, program, workers)
    return _prepared[target, program]
