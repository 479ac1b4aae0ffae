"""Large sums, ops that normalise by them, and large chains, for NVIDIA GPUs, by Triton's compiler.

A nest is written as the source of a function in Triton.
"""

from __future__ import annotations

import hashlib
import linecache
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from iree_tuner.kernels.formula import CONSTANT, INPUT, Formula, FormulaTerm
from iree_tuner.kernels.fused_op import REDUCTIONS
from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Problem
from iree_tuner.kernels.nest import (
    INSIDE,
    OUTSIDE,
    PLACE,
    REDUCED,
    SUMS,
    Access,
    Nest,
    NestTiles,
    tiles_of,
)
from iree_tuner.kernels.planned_nest import COMPARISON, OF_INTEGERS
from iree_tuner.kernels.triton_code import ELEMENTS, NARROW, TritonKernel, code_of, compiled, unfit_arrays
from iree_tuner.targets import Target

NAME = "nest"
"""Name of the function."""

TYPES = {"f16": "tl.float16", "bf16": "tl.bfloat16", "f32": "tl.float32", "i1": "tl.int1"}
"""Triton's names of the types of terms."""

_INTEGERS = {"index": "tl.int32", **{f"i{width}": f"tl.int{width}" for width in (8, 16, 32, 64)}}
"""The same, of integers, which tiles (`triton_tiles`) may have."""

IMPORTS = (
    "import triton", "import triton.language as tl", "from triton.language.extra import libdevice",
)  # fmt: skip
_WAITS = "from iree_tuner.kernels.triton_source import cluster_waits"
_WIDE = "tl.float32"
_CHOICE = "arith.select"
_SIMPLE = {
    "arith.addf": "{0} + {1}", "arith.subf": "{0} - {1}", "arith.mulf": "{0} * {1}", "arith.negf": "-{0}",
    _CHOICE: "tl.where({0}, {1}, {2})",
    "arith.maximumf": "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
    "arith.minimumf": "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
    "arith.maxnumf": "tl.maximum({0}, {1})", "arith.minnumf": "tl.minimum({0}, {1})",
}  # fmt: skip
_FIRST = (INPUT, INSIDE, OUTSIDE, PLACE)
_IN_F32 = {
    "arith.divf": "{0} / {1}", "math.exp": "tl.exp({0})", "math.log": "tl.log({0})",
    "math.sqrt": "tl.sqrt({0})", "math.rsqrt": "tl.rsqrt({0})", "math.erf": "tl.erf({0})",
    "math.tanh": "libdevice.tanh({0})", "math.absf": "tl.abs({0})", "math.expm1": "libdevice.expm1({0})",
    "math.log1p": "libdevice.log1p({0})", "math.exp2": "tl.exp2({0})", "math.sin": "tl.sin({0})",
    "math.cos": "tl.cos({0})", "math.floor": "tl.floor({0})", "math.ceil": "tl.ceil({0})",
    "math.powf": "libdevice.pow({0}, {1})",
    "arith.extf": "{0}", "arith.truncf": "{0}",
}  # fmt: skip
_COMPARED = {
    1: "{0} == {1}", 2: "{0} > {1}", 3: "{0} >= {1}", 4: "{0} < {1}", 5: "{0} <= {1}", 9: "({0} <= {1}) == 0",
    10: "({0} < {1}) == 0", 11: "({0} >= {1}) == 0", 12: "({0} > {1}) == 0", 13: "{0} != {1}",
}  # fmt: skip
"""Predicates of cmpf by number. The unordered ones are true if an operand is NaN."""
_UNSIGNED = "{0}.to(tl.u{of}, bitcast=True)"
_OF_INTEGERS = {
    "arith.addi": "{0} + {1}", "arith.subi": "{0} - {1}", "arith.muli": "{0} * {1}",
    "arith.andi": "{0} & {1}", "arith.ori": "{0} | {1}", "arith.xori": "{0} ^ {1}",
    "arith.maxsi": "tl.maximum({0}, {1})", "arith.minsi": "tl.minimum({0}, {1})", "math.absi": "tl.abs({0})",
    "arith.shli": "{0} << {1}", "arith.shrsi": "{0} >> {1}",
    "arith.shrui": f"({_UNSIGNED} >> {{1}}.to(tl.u{{of}}, bitcast=True)).to({{kind}}, bitcast=True)",
    **dict.fromkeys(("arith.extui", "arith.uitofp"), f"({_UNSIGNED}).to({{kind}})"),
    **dict.fromkeys(("arith.index_cast", "arith.extsi", "arith.trunci", "arith.sitofp"), "({0}).to({kind})"),
}  # fmt: skip
_OF_BITS = {
    **dict.fromkeys(("arith.extui", "arith.uitofp"), "({0}).to({kind})"),
    **dict.fromkeys(("arith.extsi", "arith.sitofp"), "-({0}).to({kind})"),
}
"""Casts of one bit, which Triton casts to 0 and 1. It has no unsigned type of one bit."""
_INTEGERS_COMPARED = (
    *(f"{{0}} {each} {{1}}" for each in ("==", "!=", "<", "<=", ">", ">=")),
    *(f"{_UNSIGNED} {each} {_UNSIGNED.replace('{0}', '{1}')}" for each in ("<", "<=", ">", ">=")),
)
"""Predicates of cmpi by number, first those of signed integers."""


def unknown_term(nest: Nest, *, integers: bool = False) -> str:
    """The first scalar op or type that cannot be written; empty if all can.

    With `integers`, integers and numbers of loops can be.
    """
    for term in (*nest.terms, *nest.scanned, *nest.after):
        integer = integers and (term.op in (PLACE, *_OF_INTEGERS) or _compares_integers(term))
        known = {**TYPES, **_INTEGERS} if integers else TYPES
        if term.element not in known:
            return term.element
        if integer:
            continue
        reduced = (REDUCED + each for each in REDUCTIONS)
        known = {INPUT, CONSTANT, INSIDE, OUTSIDE, *_SIMPLE, *_IN_F32, *reduced}
        if term.op not in known and (term.op != COMPARISON or int(term.value) not in _COMPARED):
            return term.op
    return ""


def source_of(nest: Nest, tiles: NestTiles, inputs: int) -> str:
    """The text of a module with the function.

    The function's parameters are pointers to the inputs (`x0`, `x1`, ...) and to the result (`out`). Sums are
    written as [*result, parts], or whole if the workgroups of a cluster combine them: they share `partial`.

    Args:
        nest: with merged loops.
        tiles: of the nest.
        inputs: the number of parameters for inputs, of which the first are read.
    """
    return _Writer(nest, tiles).source(inputs)


@dataclass
class _Writer:
    """Writes a function.

    Index and mask of the axis 2 are `i2` and `m2`, the value of the term 3 is `v3`. If they differ from step
    to step, the step's number in its group follows: `i2_0`.

    Attributes:
        nest, tiles: what is written.
        lines: the statements so far.
        indent: indentation of the next statement.
    """

    nest: Nest
    tiles: NestTiles
    lines: list[str] = field(default_factory=list[str])
    indent: str = "    "

    def source(self, inputs: int) -> str:
        tiles, own = self.tiles, len(self.nest.terms)
        terms = range(len(self._terms) if self._scans else own)
        shared = ["partial"] if tiles.cluster else []
        pointers = ", ".join([*(f"x{number}" for number in range(inputs)), "out", *shared])
        head = [*IMPORTS, *([_WAITS] if tiles.cluster else [])]
        self._write("number = tl.program_id(0)")
        self._write(f"part = number % {tiles.parts}")
        self._write(f"number = number // {tiles.parts}")
        self._write(f"lane = tl.arange(0, {tiles.elements})")
        self._indices(stepped=False)
        for number in (each for each in terms if each not in self._varying):
            self._term(number)
        if self._scans:
            head += ["", "", "@triton.jit", "def combined(a, b):", *self._combination()]
            self._write(f"carry = tl.zeros({self._lines}, {self._scanned})")
        if tiles.sums:
            head += ["", "", "@triton.jit", "def combined(a, b):", f"    return {self._combined('a', 'b')}"]
            self._write(f"total = tl.full([{tiles.elements}], {self._neutral}, tl.float32)")
        self._write(f"for step in range(0, {tiles.steps}, {tiles.group}):")
        self.indent *= 2
        varying = [each for each in terms if each in self._varying]
        reads = [each for each in varying if self._terms[each].op in _FIRST and not self._is_sums(each)]
        others = [each for each in varying if each not in reads]
        for place in range(tiles.group):
            self._write(f"number = part * {tiles.steps} + step + {place}")
            self._indices(stepped=True, place=place)
            for number in reads:
                self._term(number, place)
        for place in range(tiles.group):
            for number in (each for each in others if each < own):
                self._term(number, place)
            if self._scans:
                self._scan(place)
                for number in (each for each in others if each >= own):
                    self._term(number, place)
            self._use(place)
        self.indent = self.indent[: len(self.indent) // 2]
        if tiles.sums:
            self._add_up()
        head += ["", "", "@triton.jit", f"def {NAME}({pointers}):"]
        return "\n".join([*head, *self.lines, ""])

    def _use(self, place: int) -> None:
        axes = range(len(self.tiles.axes))
        value = self._name("v", len(self.nest.terms) - 1, place)
        if self._scans:
            last = self._name("v", len(self._terms) - 1, place)
            self._store(last if self.nest.after else f"total_{place}", [*axes], place)
        elif self.tiles.sums:
            inside = self._mask([number for number in axes if self.tiles.axes[number].stepped], place)
            value = f"{value}.to({_WIDE})"
            value = f"tl.where({inside}, {value}, {self._neutral})" if inside else value
            self._write(f"total = {self._combined('total', value)}")
        else:
            self._store(value, [*axes], place)

    @property
    def _scans(self) -> bool:
        return self.nest.scan is not None

    @property
    def _scanned(self) -> str:
        """The type of elements that are scanned."""
        element = self.nest.terms[-1].element
        return _WIDE if element in TYPES else _INTEGERS[element]

    @property
    def _lines(self) -> list[int]:
        """The shape of a tile with one element for each line along the scan."""
        return [1 if axis.stepped else axis.block for axis in self.tiles.axes if axis.block > 1]

    def _combination(self) -> list[str]:
        """The statements of a function that combines two elements."""
        lines = list[str]()
        for number, term in enumerate(self.nest.scanned):
            wide = replace(term, element="f32") if term.element in ELEMENTS else term
            kinds = [self.nest.scanned[each].element for each in term.of]
            value = (
                "ab"[term.input] if term.op == INPUT else value_of(wide, [f"v{of}" for of in term.of], kinds)
            )
            lines.append(f"    v{number} = {value}")
        return [*lines, f"    return v{len(lines) - 1}"]

    def _scan(self, place: int) -> None:
        """Combine the elements of a tile with those before them, also of the tiles before."""
        axes = [axis for axis in self.tiles.axes if axis.block > 1]
        at = next(number for number, axis in enumerate(axes) if axis.stepped)
        value, size = self._name("v", len(self.nest.terms) - 1, place), axes[at].block
        lines = f"tl.reshape(({value} + 0 * lane).to({self._scanned}), {[axis.block for axis in axes]})"
        self._write(f"total = tl.associative_scan({lines}, {at}, combined)")
        if self.tiles.steps > 1:
            joined = "combined(carry, total)"
            # The first tile has no elements before it.
            self._write(f"total = {joined if place else f'tl.where(step > 0, {joined}, total)'}")
            index = ", ".join(":" if number == at else "None" for number in range(len(axes)))
            last = f"tl.arange(0, {size})" + (f"[{index}]" if len(axes) > 1 else "")
            self._write(f"ends = tl.where({last} == {size - 1}, total, 0).to({self._scanned})")
            self._write(f"carry = tl.sum(ends, {at}, keep_dims=True)")
        self._write(f"total_{place} = tl.reshape(total, [{self.tiles.elements}])")

    def _is_sums(self, number: int) -> bool:
        """Whether a term is a combined element."""
        term = self._terms[number]
        return term.op == INPUT and self.nest.accesses[term.input].input == SUMS

    def _combined(self, one: str, other: str) -> str:
        return _SIMPLE[self.nest.combine].format(one, other)

    @property
    def _neutral(self) -> str:
        return "0.0" if self.nest.combine == "arith.addf" else 'float("-inf")'

    def _add_up(self) -> None:
        """Combine the lanes of a tile, and write the results."""
        axes = self.tiles.axes
        shaped = [number for number, axis in enumerate(axes) if axis.block > 1]
        if all(axes[number].stepped for number in shaped):
            self._write("total = tl.reduce(total, 0, combined)")
        else:
            self._write(f"total = tl.reshape(total, {[axes[number].block for number in shaped]})")
            for place, number in enumerate(shaped):
                if axes[number].stepped:
                    self._write(f"total = tl.reduce(total, {place}, combined, keep_dims=True)")
        if self.tiles.cluster:
            self._share(shaped)
        self._write(f"number = tl.program_id(0) // {self.tiles.parts}")
        self._indices(stepped=False, shaped=shaped)
        kept = [number for number, axis in enumerate(axes) if not axis.stepped]
        first = len(self.nest.terms)
        for number in range(first, first + len(self.nest.after)):
            self._term(number)
        self._store(f"v{first + len(self.nest.after) - 1}" if self.nest.after else "total", kept)

    def _share(self, shaped: Sequence[int]) -> None:
        """Combine the sums of the workgroups of a cluster, always in the same order."""
        parts, inner, inside = self.tiles.parts, self.tiles.kept, list[str]()
        for number in (each for each in shaped if not self.tiles.axes[each].stepped):
            inner //= self.tiles.axes[number].block
            inside.append(f"({self._inside(number, shaped)}) * {inner}")
        place = " + ".join(["partial", *inside])
        self._write(f"share = {place} + tl.program_id(0) * {self.tiles.kept}")
        self._write("tl.store(share, total)")
        self._write("cluster_waits()")
        for part in range(parts):
            start = f"(tl.program_id(0) // {parts} * {parts} + {part}) * {self.tiles.kept}"
            # Not from the cache of this processor, which does not see what others write.
            other = f'tl.load({place} + {start}, cache_modifier=".cg")'
            self._write(f"total = {self._combined('total', other) if part else other}")

    def _write(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def _name(self, letter: str, number: int, place: int = 0) -> str:
        """The name of an axis's index (`i`) or mask (`m`), or of a term's value (`v`), in a step."""
        steps = number in self._varying if letter == "v" else self.tiles.axes[number].stepped
        return f"{letter}{number}_{place}" if steps else f"{letter}{number}"

    def _indices(self, *, stepped: bool, place: int = 0, shaped: Sequence[int] = ()) -> None:
        """Write indices and masks of axes. The innermost axis changes fastest from one number to the next.

        With `shaped`, each of these axes is a dimension of the tile; otherwise the tile is one line of lanes,
        for which all versions of Triton let neighbouring threads read neighbouring elements.
        """
        own = [number for number, axis in enumerate(self.tiles.axes) if axis.stepped == stepped]
        for number in reversed(own):
            axis = self.tiles.axes[number]
            # The outermost axis takes what is left of the number, also past the end.
            start = "number" if number == own[0] else f"number % {axis.tiles}"
            parts = [f"({start}) * {axis.block}"] if axis.tiles > 1 or number == own[0] else []
            parts += [self._inside(number, shaped)] if axis.block > 1 else []
            index = self._name("i", number, place)
            self._write(f"{index} = {' + '.join(parts)}")
            if number != own[0] and axis.tiles > 1:
                self._write(f"number = number // {axis.tiles}")
            if self._masked(number):
                wide = index if axis.block > 1 else f"{index} + 0 * lane"  # a mask is for all lanes
                self._write(f"{self._name('m', number, place)} = {wide} < {axis.size}")

    def _inside(self, number: int, shaped: Sequence[int]) -> str:
        """The indices of an axis inside of a tile."""
        axes = self.tiles.axes
        block = axes[number].block
        if shaped:
            places = ", ".join(":" if each == number else "None" for each in shaped)
            return f"tl.arange(0, {block})" + (f"[{places}]" if len(shaped) > 1 else "")
        inner = math.prod(each.block for each in axes[number + 1 :])
        found = f"lane // {inner}" if inner > 1 else "lane"
        return found if inner * block == self.tiles.elements else f"{found} % {block}"

    def _masked(self, number: int) -> bool:
        """Whether an axis may go past its end. Past the last part, only the outermost one with steps does."""
        axes = self.tiles.axes
        first = next((each for each, axis in enumerate(axes) if axis.stepped), -1)
        return axes[number].size % axes[number].block > 0 or (number == first and self.tiles.uneven)

    def _mask(self, axes: Sequence[int], place: int = 0) -> str:
        """The condition that these axes do not go past their ends; empty if they never do."""
        return " & ".join(self._name("m", number, place) for number in axes if self._masked(number))

    @property
    def _terms(self) -> Formula:
        return (*self.nest.terms, *self.nest.after)

    @cached_property
    def _varying(self) -> frozenset[int]:
        """The terms that differ from one step of a workgroup to the next."""
        loops = [loop for axis in self.tiles.axes if axis.stepped for loop in axis.loops]
        found: set[int] = set()
        for number, term in enumerate(self._terms):  # none of those after sums
            along = self._strides(term)
            if (
                (self._scans and self._is_sums(number))
                or any(along[loop] for loop in loops if along)
                or not found.isdisjoint(term.of)
            ):
                found.add(number)
        return frozenset(found)

    def _strides(self, term: FormulaTerm) -> tuple[int, ...]:
        """The strides of what a term reads or tests; empty for other terms."""
        if term.op == INPUT:
            return self.nest.accesses[term.input].strides
        return self.nest.ranges[term.input].strides if term.op in (INSIDE, OUTSIDE, PLACE) else ()

    def _term(self, number: int, place: int = 0) -> None:
        term = self._terms[number]
        if self._is_sums(number):
            kind = {**TYPES, **_INTEGERS}[term.element]
            value = f"total{f'_{place}' if self._scans else ''}.to({kind})"
        elif term.op == INPUT:
            where = [self._name("v", each, place) for each in term.of]
            value = self._load(self.nest.accesses[term.input], where, place)
            value = f"{value} != 0" if term.element == "i1" else value
        elif term.op == PLACE:
            own = self.nest.ranges[term.input]
            value = self._address("0 * lane", own.strides, own.offset, place)
        elif term.op in (INSIDE, OUTSIDE):
            tested = self.nest.ranges[term.input]
            index = self._address("0 * lane", tested.strides, tested.offset, place)
            value = f"({index} >= {tested.first}) & ({index} < {tested.end})"
            value = value if term.op == INSIDE else f"({value}) == 0"
        elif term.op.startswith(REDUCED):
            value = self._reduced(term, self._name("v", term.of[0], place), place)
        else:
            kinds = [self._terms[each].element for each in term.of]
            value = value_of(term, [self._name("v", each, place) for each in term.of], kinds)
        self._write(f"{self._name('v', number, place)} = {value}")

    def _reduced(self, term: FormulaTerm, of: str, place: int) -> str:
        """The result of a reduction of a value's row, in f32. All lanes are one row."""
        adds = term.op == REDUCED + "arith.addf"
        neutral, inside = "0.0" if adds else 'float("-inf")', self._mask([len(self.tiles.axes) - 1], place)
        values = f"({of} + 0 * lane).to({_WIDE})"  # also of a value that all lanes share
        values = f"tl.where({inside}, {values}, {neutral})" if inside else values
        start = repr(term.value) if math.isfinite(term.value) else f'float("{term.value}")'
        found = f"tl.sum({values}) + {start}" if adds else f"tl.maximum(tl.max({values}), {start})"
        return f"({found}).to({TYPES[term.element]})"

    def _load(self, access: Access, where: Sequence[str], place: int) -> str:
        """A load of an access, of what is inside of the loops and where these values are true."""
        axes = enumerate(self.tiles.axes)
        own = [number for number, axis in axes if any(access.strides[loop] for loop in axis.loops)]
        mask = " & ".join(filter(None, (self._mask(own, place), *where)))
        masked = f", mask={mask}, other=0" if mask else ""
        address = self._address(f"x{access.input}", access.strides, access.offset, place)
        wide = mask and (where or all(self.tiles.axes[number].block == 1 for number in own))
        return f"tl.load({address}{' + 0 * lane' if wide else ''}{masked})"  # all lanes have a mask

    def _store(self, value: str, axes: Sequence[int], place: int = 0) -> None:
        parts = self.tiles.apart
        strides = [(each or 0) * (parts or 1) for each in self.nest.written]
        first = "part == 0" if self.tiles.cluster else ""
        mask = " & ".join(f"({each})" for each in (self._mask(axes, place), first) if each)
        masked = f", mask={mask}" if mask else ""
        address = self._address("out", strides, 0, place)
        self._write(f"tl.store({address}{' + part' if parts else ''}, {value}{masked})")

    def _address(self, pointer: str, strides: Sequence[int], offset: int, place: int) -> str:
        """The address of elements with these strides of loops."""
        parts = [pointer, *([str(offset)] if offset else [])]
        for number, axis in enumerate(self.tiles.axes):
            loops = [(self.nest.sizes[loop], strides[loop]) for loop in axis.loops]
            parts += _along(self._name("i", number, place), loops)
        return " + ".join(parts)


def _compares_integers(term: FormulaTerm) -> bool:
    return term.op == OF_INTEGERS and term.value < len(_INTEGERS_COMPARED)


def value_of(term: FormulaTerm, of: Sequence[str], kinds: Sequence[str] = ()) -> str:
    """The expression of a constant or a scalar op, of these operands. `kinds` are the types of integers."""
    kind = {**TYPES, **_INTEGERS}[term.element]
    first = kinds[0].replace("index", "i32").replace("i", "int") if kinds else ""
    if term.op in _OF_INTEGERS:
        written = {**_OF_INTEGERS, **_OF_BITS} if first == "int1" else _OF_INTEGERS
        return written[term.op].format(*of, kind=kind, of=first)
    if term.op == OF_INTEGERS:
        return _INTEGERS_COMPARED[int(term.value)].format(*of, of=first)
    if term.op == CONSTANT:
        value = term.value if term.element[0] in "bf" else int(term.value)
        number = repr(value) if math.isfinite(value) else f'float("{value}")'
        return f"tl.full((), {number}, {kind})"
    if term.op in _SIMPLE:
        return _SIMPLE[term.op].format(*of)
    if term.op == COMPARISON:
        return _COMPARED[int(term.value)].format(*of)
    return f"({_IN_F32[term.op].format(*(f'{each}.to({_WIDE})' for each in of))}).to({kind})"


def _along(index: str, loops: Sequence[tuple[int, int]]) -> list[str]:
    """The summands of an address for an index over loops, given by sizes and strides, outermost first."""
    runs = runs_of(loops)
    found: list[str] = []
    for place, (size, stride) in enumerate(runs):
        inner = math.prod(each for each, _ in runs[place + 1 :])
        own = f"{index} // {inner}" if inner > 1 else index
        if place:  # the outermost loop is the only one that the index can go past
            own = f"({own}) % {size}"
        if stride:
            own = f"({own})" if " " in own else own
            found.append(own if stride == 1 else f"{own} * {stride}")
    return found


def runs_of(loops: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Loops by size and stride, outermost first, joined where they go through an array like one."""
    found: list[tuple[int, int]] = []
    for size, stride in loops:
        if found and found[-1][1] == stride * size:
            found[-1] = found[-1][0] * size, stride
        else:
            found.append((size, stride))
    return found


_SUMMED = {"f16", "bf16", "f32"}
_SCANNED = {*_SUMMED, "i32"}
_READ = ("i1", "i8", "i16", "i32")
"""Integers that may be read."""

_EACH = 16  # elements of a row for each thread: more workgroups run at once than with fewer
_FEW = 4  # of a scan, where each thread scans its own first
_SUMS: Knobs = {"warps": 8, "stages": 1}
_ELEMENTS: Knobs = {"warps": 4, "stages": 1}


class TritonNorms(TritonKernel):
    """Reads along the memory, whatever the loops are. Sums have 32 bits; parts of few are added up later."""

    name = "triton_norms"
    summary = (
        "reductions, scans, norms of rows and groups, large elementwise ops, slices and joins, by Triton"
    )

    def refuses(self, problem: Problem) -> str:
        nest = problem.nest
        if nest is None:
            return "it is no sum of many values, no op that normalises by one and no large chain"
        if unknown := unknown_term(nest, integers=True):
            return f"it has {unknown}, which the kernel does not compute"
        if any(nest.summed) and not {nest.terms[-1].element, problem.result.element_type} <= _SUMMED:
            return f"its sums are {problem.result.element_type}"
        if nest.scan is not None and not {nest.terms[-1].element, problem.result.element_type} <= _SCANNED:
            return f"it scans {problem.result.element_type}"
        return unfit_arrays(problem, _READ)

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """One variant: the problem is not timed alone."""
        nest = problem.nest
        if nest is not None and nest.row is not None:
            lanes = tiles_of(nest.merged()).elements
            return ({"warps": max(1, min(16, lanes // (32 * _EACH))), "stages": 1},)
        if nest is not None and nest.scan is not None:
            lanes = tiles_of(nest.merged()).elements
            return ({"warps": max(1, min(8, lanes // (32 * _FEW))), "stages": 1},)
        return (_SUMS if nest is not None and any(nest.summed) else _ELEMENTS,)

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        if problem.nest is None or self.refuses(problem) or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        function, tiles = function_of(problem.nest, len(problem.inputs))
        kinds = {**ELEMENTS, **NARROW}
        inputs = {f"x{number}": kinds[each.element_type] for number, each in enumerate(problem.inputs)}
        pointers = {**inputs, "out": kinds[problem.result.element_type]}
        pointers |= {"partial": ELEMENTS["f32"]} if tiles.cluster else {}
        made = compiled(function, pointers, {}, knobs)
        code = code_of(
            problem, made, range(len(pointers)), len(pointers), (tiles.workgroups, 1, 1), knobs,
            cluster=tiles.parts if tiles.cluster else 1, partial_bytes=tiles.partial_bytes,
        )  # fmt: skip
        return replace(code, parts=tiles.apart)


def function_of(nest: Nest, inputs: int) -> tuple[Any, NestTiles]:
    """The function in Triton that computes a nest with this number of inputs, and its tiles."""
    merged = nest.merged()
    tiles = tiles_of(merged)
    return function_from(source_of(merged, tiles, inputs), NAME), tiles


def function_from(text: str, name: str) -> Any:  # noqa: ANN401 - Triton has no types
    """The function of that name in the text of a module."""
    # Triton reads the function's source by its file's name, as the interpreter of Python has it.
    file = f"<{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {"__name__": __name__}  # Triton asks functions that are called for their module
    exec(compile(text, file, "exec"), space)
    return space[name]
