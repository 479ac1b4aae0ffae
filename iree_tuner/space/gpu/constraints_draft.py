"""A constraints op while it is being supplemented, and the supplements: additions with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.unbound import pipeline_of
from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import declared_knobs, derived, knob
from iree_tuner.space.expressions import Integer, lookup
from iree_tuner.space.gpu.instructions import shape_of
from iree_tuner.targets import GpuLimits

MMA_KIND = "mma_kind"


class Draft:
    """One constraints op, from the compiler or built here, and what supplements need to know about it."""

    def __init__(self, op: iree_codegen.ConstraintsOp, workload: Workload, limits: GpuLimits) -> None:
        self.op = op
        self.workload = workload
        self.limits = limits
        self._body = op.operation.regions[0].blocks[0]
        self._knobs = declared_knobs(op)

    @property
    def pipeline(self) -> str:
        """`TileAndFuse` or `VectorDistribute`."""
        return pipeline_of(self.op.pipeline)[1]

    @property
    def entries(self) -> dict[str, ir.Attribute]:
        """A copy of the knobs dictionary."""
        return {named.name: named.attr for named in ir.DictAttr(self.op.knobs)}

    @property
    def igemm(self) -> bool:
        """Whether a convolution becomes a matrix multiplication of gathered patches (IGEMM)."""
        pinned = any("use_igemm_convolution=true" in text for text, _ in self._asserts())
        options = self.entries.get("gpu_pipeline_options")
        if pinned or options is None:
            return pinned
        wanted = [each.attr for each in ir.DictAttr(options) if each.name == "use_igemm_convolution"]
        return wanted == [ir.BoolAttr.get(True, options.context)]

    def has(self, name: str) -> bool:
        """Whether the op declares a knob."""
        return name in self._knobs

    def value(self, name: str) -> Integer:
        return self._knobs[name]

    def end(self) -> ir.InsertionPoint:
        """The end of the op's body, where supplements and rulings add to it."""
        return ir.InsertionPoint(self._body)

    def declare(self, name: str, values: Sequence[int], reason: str) -> Integer:
        """A new knob, as `constraints.knob` declares it."""
        self._knobs[name] = knob(name, values, reason)
        return self._knobs[name]

    def declare_derived(self, name: str) -> Integer:
        """A new knob that an assert of the caller's makes equal to an expression."""
        self._knobs[name] = derived(name)
        return self._knobs[name]

    def remove(self, start: str) -> bool:
        """Take out the asserts whose message starts with a text; whether there were any."""
        found = [op for text, op in self._asserts() if text.startswith(start)]
        for op in found:
            op.erase()
        return bool(found)

    def replace(self, start: str) -> None:
        """`remove`, for an assert that must be there. Raises TunerError for another release's constraints."""
        if not self.remove(start):
            raise TunerError(
                f"the compiler's constraints lack the assert '{start}...' that iree-tuner replaces"
            )

    def set_entries(self, **entries: ir.Attribute) -> None:
        self.op.operation.attributes["knobs"] = ir.DictAttr.get(self.entries | entries)

    def mma(self) -> list[ir.Attribute]:
        """The matrix instructions that the space chooses from, if any."""
        kind = self.entries.get(MMA_KIND)
        return list(iree_codegen.OneOfKnobAttr(kind).options) if kind is not None else []

    def mma_shape(self) -> tuple[Integer, Integer, Integer]:
        """Rows, columns and depth of the chosen matrix instruction."""
        shapes = [shape_of(attribute) for attribute in self.mma()]
        index = self.value("mma_idx")
        m, n, k = (lookup(index, [shape[i] for shape in shapes]) for i in range(3))
        return m, n, k

    def _asserts(self) -> list[tuple[str, ir.Operation]]:
        return [
            (ir.StringAttr(view.operation.attributes["msg"]).value, view.operation)
            for view in self._body.operations
            if view.operation.name == "iree_codegen.smt.assert"
        ]


def choose_instruction(name: str, shapes: Sequence[Sequence[int]]) -> tuple[Integer, ...]:
    """Declare the knob for the place of an instruction; returns it, and the instruction's m, n and k."""
    index = knob(name, range(len(shapes)), f"the place of one of {len(shapes)} instructions")
    return index, *(lookup(index, [shape[i] for shape in shapes]) for i in range(3))


# The operands and results of the root op, in the terms of its tiles.


def operand_tile(
    workload: Workload, operand: int, tiles: Mapping[int, Integer | int]
) -> Sequence[Integer | int]:
    """The shape of an operand's tile, outermost dimension first; a loop without a tile counts 1."""
    return [tiles.get(loop, 1) for loop in workload.maps[operand].loops]


def round_up(size: int, step: int) -> int:
    """The next multiple of a step."""
    return -(-size // step) * step


@dataclass(frozen=True)
class Supplement:
    """An addition of knobs and asserts to the constraints ops for which it `applies`.

    `reason` says what goes wrong without it, and where in the compiler that is decided; `releases` are those
    of the compiler with which it has been checked.
    """

    name: str
    reason: str
    extend: Callable[[Draft], None]
    applies: Callable[[Draft], bool] = lambda _: True
    releases: tuple[str, ...] = ("3.13",)


def apply(supplements: tuple[Supplement, ...], draft: Draft) -> None:
    """Extend a draft by all supplements that apply to it, in their order."""
    with draft.end():
        for supplement in supplements:
            if supplement.applies(draft):
                supplement.extend(draft)
