"""The rules for sizes that a program leaves open: bounds, steps, names, and equal sizes.

A program states them in the dialect that it came in: `util.assume.int` and `flow.tensor.tie_shape`, torch's
symbolic shapes, bounds of StableHLO's types, and the shape assertions of JAX. The functions are read from
their start, without branches and loops: ops that are not understood there are ignored. The arithmetic is
evaluated on all sizes of a range at once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from iree_tuner.compiler.context import ops_in, symbol_of
from iree_tuner.compiler.unbound import bounds_of_type, enumerator_of
from iree_tuner.ops.structure import assumption
from iree_tuner.program.entries import entry_operations, hal_fence, taken_as

Variable = tuple[int, ...] | str
"""A dimension (input, dimension), a number that is an input (input,), or the name of a symbol."""

Array = npt.NDArray[Any]

USUAL = 128
"""The size that is suggested where it is allowed."""

_SCANNED = np.arange(1 << 17, dtype=np.int64)
_PARTS = np.arange(1, 4097, dtype=np.int64)
_LARGE, _MOST = 4096, 1 << 40
_TRIES = 64
_LISTED = 6
_MOST_DEEP, _MOST_READ = 16, 30_000  # calls in calls, and ops, also of functions that are called often


@dataclass(frozen=True)
class SizeTerm:
    """A number computed from sizes, or a condition on them: `at` gives it for values of `of`."""

    of: frozenset[Variable]
    at: Callable[[Mapping[Variable, Array]], Array]


class SizeRules:
    """The rules for sizes of one function.

    `places` are dimensions of inputs that are dynamic, and numbers that are sizes of other tensors; `symbols`
    name sizes.
    """

    def __init__(
        self, places: Sequence[tuple[int, ...]], symbols: Sequence[str], defined: Mapping[Variable, SizeTerm],
        conditions: Sequence[SizeTerm], large: Iterable[int] = (),
    ) -> None:  # fmt: skip
        self.places = tuple(places)
        self.symbols = tuple(symbols)
        self._defined = defined
        self._large = tuple(large)
        self._incomplete = False
        self._free = {each: _free_in([each], defined) for each in (*places, *symbols)}
        open_ = {each for free in self._free.values() for each in free}
        least = [_apply(operator.ge, _variable(each), _number(1)) for each in places]
        found = [(_free_in(each.of, defined), each) for each in (*least, *conditions)]
        self._conditions = [(free, each) for free, each in found if free and free <= open_]

    def resolved(
        self, given: Mapping[Variable, int], general: int | None = None
    ) -> dict[Variable, int] | None:
        """All sizes that follow from some, with `general` at all other places; None if these are excluded."""
        known = {each: size for each, size in given.items() if each in self._free}
        self._incomplete = False
        found = self._search(known, [each for place in known for each in self._free[place]])
        if found is None and self._incomplete:
            found = known
        if found is None or general is None:
            return found
        rest = {place: general for place in self.places if place not in found}
        return self.resolved({**known, **rest}) if rest else found

    def why_wrong(self, given: Mapping[Variable, int], general: int | None = None) -> str:
        """Why sizes are not possible, and some that are; empty if nothing excludes them."""
        if self.resolved(given, general) is not None:
            return ""
        known = self.resolved(given) or given
        rest = {} if general is None else {place: general for place in self.places if place not in known}
        every = {each: size for each, size in (*given.items(), *rest.items()) if each in self._free}
        suggested = self.suggestion({})
        hint = f"; for example {suggested}" if suggested else ""
        for each, size in every.items():
            if self.resolved({each: size}) is None:
                refusal = f"says {allowed}" if (allowed := self.allowed(each)) else "excludes it"
                return f"{described(each)} cannot be {size}: the program {refusal}{hint}"
        named = ", ".join(f"{written(each)}={size}" for each, size in every.items())
        return f"the program excludes these sizes together: {named}{hint}"

    def suggestion(self, given: Mapping[Variable, int]) -> str:
        """`--dim` options with allowed sizes for all places that have none; empty if none are known."""
        known = self.resolved(given) or {}
        missing = [place for place in self.places if place not in known]
        found = self.resolved(given, USUAL) if not self.symbols else None
        if found is None:
            todo = [each for place in missing for each in self._free[place]]
            found = self._search(
                {**known, **given}, [*(each for one in known for each in self._free[one]), *todo]
            )
        if found is None:
            return ""
        sizes = {found[place] for place in missing}
        if len(sizes) == 1 and not (self.symbols or given) and self.resolved(given, min(sizes)) is not None:
            return f"--dim {min(sizes)}"
        names: dict[Variable, int] = {}
        for place in missing:
            if place not in (self.resolved({**given, **names}) or {}):
                for free in sorted(self._free[place], key=written):
                    own = (
                        each
                        for each in (*self.symbols, *self.places)
                        if self._free[each] == frozenset([free])
                    )
                    name = next(own, free)
                    if name not in (self.resolved({**given, **names}) or {}):
                        names[name] = found[name]
        return " ".join(f"--dim {written(name)}={size}" for name, size in names.items())

    def allowed(self, place: Variable) -> str:
        """The sizes that a place may have: `48 to 2016 in steps of 48`; empty if that is not known."""
        free = self._free[place]
        if len(free) != 1:
            return ""
        (variable,) = free
        env = self._env({variable: _scanned(self._large)})
        mask = self._holds(env, free, variable)
        sizes = _distinct(env[place][mask] if env[place].shape == mask.shape else env[place])
        if not len(sizes):
            return ""
        if len(sizes) <= _LISTED:
            return " or ".join(str(size) for size in sizes)
        step = math.gcd(*(int(each) for each in np.diff(sizes)))
        first, last = int(sizes[0]), int(sizes[-1])
        near = sizes[sizes < _LARGE]  # all of them were tried
        if len(near) and len(near) * step != int(near[-1]) - first + step:
            return f"{', '.join(str(size) for size in sizes[:_LISTED])} and so on"
        text = f"{first} or more" if mask[-step:].any() else f"{first} to {last}"
        return text if step == 1 else f"{text} in steps of {step}"

    def _env(self, values: Mapping[Variable, Array]) -> _Values:
        return _Values(values, self._defined)

    def _holds(self, env: _Values, known: Iterable[Variable], new: Variable) -> npt.NDArray[np.bool_]:
        """Where the conditions hold that depend on a new variable and on known ones."""
        mask = np.ones(env[new].shape, bool)
        for free, condition in self._conditions:
            if new in free and free <= {*known, new}:
                mask &= condition.at(env).astype(bool)
        return mask

    def _search(
        self, given: Mapping[Variable, int], todo: Sequence[Variable],
        known: Mapping[Variable, int] | None = None,
    ) -> dict[Variable, int] | None:  # fmt: skip
        """Sizes of variables that are not computed from others, and of all that follow from these."""
        known = known or {}
        left = [each for each in dict.fromkeys(todo) if each not in known]
        values = {each: np.array([size], np.int64) for each, size in known.items()}
        if not left:
            env = self._env(values)
            follow = [each for each, free in self._free.items() if free and free <= set(known)]
            return {each: int(env[each][0]) for each in follow}
        new, candidates = min(
            ((each, self._candidates(each, given, values)) for each in left), key=lambda pair: len(pair[1])
        )
        for value in candidates[:_TRIES]:
            found = self._search(given, left, {**known, new: int(value)})
            if found is not None:
                return found
        self._incomplete |= len(candidates) > _TRIES
        return None

    def _candidates(
        self, new: Variable, given: Mapping[Variable, int], known: Mapping[Variable, Array]
    ) -> Array:
        """Values of a variable that satisfy all conditions without further variables, the usual first."""
        tried = _scanned([*given.values(), *self._large])
        if new in given:
            tried = np.array([given[new]], np.int64)
        env = self._env({**known, new: tried})
        mask = self._holds(env, known, new)
        for each, size in given.items():
            if new in self._free[each] and self._free[each] <= {*known, new}:
                mask &= env[each] == size
        shown = next((each for each in self.places if self._free[each] == frozenset([new])), new)
        sizes = np.broadcast_to(env[shown], tried.shape)[mask]
        distance = np.where(sizes >= USUAL, sizes - USUAL, _MOST - sizes)
        return tried[mask][np.argsort(distance, kind="stable")]


class _Values(dict[Variable, Array]):
    """Values of variables. Defined ones are computed when they are asked for."""

    def __init__(self, values: Mapping[Variable, Array], defined: Mapping[Variable, SizeTerm]) -> None:
        super().__init__(values)
        self._defined = defined

    def __missing__(self, variable: Variable) -> Array:
        self[variable] = self._defined[variable].at(self)
        return self[variable]


def _free_in(variables: Iterable[Variable], defined: Mapping[Variable, SizeTerm]) -> frozenset[Variable]:
    """The variables without a definition that some are computed from."""
    found = set[Variable]()
    for each in variables:
        found |= _free_in(defined[each].of, defined) if each in defined else {each}
    return frozenset(found)


def _scanned(given: Iterable[int]) -> Array:
    """Sizes to try: small ones, and ones near large sizes that are given, their parts and multiples."""
    large = [each for each in given if _LARGE <= each < _MOST]
    near = [part for each in large for part in (each // _PARTS, each * _PARTS, each + _PARTS - 1)]
    return _distinct(np.concatenate([_SCANNED, *near])) if large else _SCANNED


def _distinct(values: Array) -> Array:
    """In order. `numpy.unique` takes ten times as long."""
    ordered = np.sort(values, axis=None)
    return ordered[np.append(ordered[1:] != ordered[:-1], True)] if len(ordered) else ordered


def written(variable: Variable) -> str:
    """A variable as `--dim` takes it: `0.1`, `2`, `batch`."""
    return variable if isinstance(variable, str) else ".".join(map(str, variable))


def described(variable: Variable) -> str:
    """A variable in a sentence."""
    if isinstance(variable, str):
        return variable
    return f"input {variable[0]}" if len(variable) == 1 else f"dimension {variable[1]} of input {variable[0]}"


def suggested(rules: Mapping[str, SizeRules], given: Mapping[Variable, int]) -> str:
    """`--dim` options for all functions of a program that have dynamic sizes."""
    of_function = {name: each.suggestion(given) for name, each in rules.items() if each.places}
    options = list(dict.fromkeys(filter(None, of_function.values())))
    for option in options:
        size = option.removeprefix("--dim ")
        if size.isdigit() and all(each.resolved(given, int(size)) is not None for each in rules.values()):
            return option
    if len(options) == 1:
        return options[0]
    return ", ".join(f"{option} for @{name}" for name, option in of_function.items() if option)


def size_rules(module: ir.Module) -> dict[str, SizeRules]:
    """The rules of each entry function of a program, in any dialect, by its name."""
    operations = ops_in(module.body)
    functions = {symbol_of(op): op for op in operations if op.name in ("func.func", "util.func")}
    return {name: _SizeReader(functions).rules(op) for name, op in entry_operations(module).items()}


_Known = SizeTerm | int
"""The facts about a value: a number, or the input that it is."""

_SAME = {
    "flow.tensor.tie_shape", "hal.tensor.import", "tensor.cast", "torch_c.to_builtin_tensor",
    "torch_c.from_builtin_tensor", "torch.copy.to_tensor", "torch.copy.to_vtensor", "torch_c.to_i64",
    "torch_c.from_i64", "util.optimization_barrier", "stablehlo.optimization_barrier", "arith.index_cast",
    "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci", "stablehlo.convert",
    "index.casts", "index.castu", "tensor.extract", "tensor.from_elements",
}  # fmt: skip
_OF_VIEW = "hal.buffer_view.dim"
_DIMENSIONS = {_OF_VIEW: "index", "stablehlo.get_dimension_size": "dimension"}
_DIMENSION_OPERANDS = ("tensor.dim", "torch.aten.size.int")
_CONSTANTS = ("arith.constant", "stablehlo.constant", "torch.constant.int", "index.constant")


def _quotient(a: Array, b: Array) -> Array:
    """Rounded towards zero."""
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.maximum(np.abs(b), 1))


def _rounded_up(a: Array, b: Array) -> Array:
    return -(-a // np.maximum(b, 1))


def _remainder(a: Array, b: Array) -> Array:
    return a - b * _quotient(a, b)


def _floored(a: Array, b: Array) -> Array:
    return a // np.where(b == 0, 1, b)


def _modulo(a: Array, b: Array) -> Array:
    return a % np.maximum(b, 1)


def _selected(chosen: Array, one: Array, other: Array) -> Array:
    return np.where(chosen.astype(bool), one, other)


_BINARY: dict[str, Callable[..., Any]] = {
    "addi": operator.add, "add": operator.add, "subi": operator.sub, "sub": operator.sub,
    "subtract": operator.sub, "muli": operator.mul, "mul": operator.mul, "multiply": operator.mul,
    "divsi": _quotient, "divui": _quotient, "divs": _quotient, "divu": _quotient, "divide": _quotient,
    "floordivsi": _floored, "floordivs": _floored, "ceildivsi": _rounded_up, "ceildivui": _rounded_up,
    "ceildivs": _rounded_up, "ceildivu": _rounded_up, "remsi": _remainder, "remui": _remainder,
    "rems": _remainder, "remu": _remainder, "remainder": _remainder, "minsi": np.minimum, "minui": np.minimum,
    "minimum": np.minimum, "maxsi": np.maximum, "maxui": np.maximum, "maximum": np.maximum,
    "andi": operator.and_, "and": operator.and_, "ori": operator.or_, "or": operator.or_,
    "xori": operator.xor, "xor": operator.xor, "sign": np.sign, "negate": operator.neg, "abs": np.abs,
}  # fmt: skip
"""Arithmetic of the dialects arith, index and StableHLO, without their names."""

_ARITHMETIC = ("arith", "index", "stablehlo")
_COMPARED = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt,
    "GE": operator.ge,
}  # fmt: skip
_PREDICATES = ("EQ", "NE", "LT", "LE", "GT", "GE", "LT", "LE", "GT", "GE")
_CALLS = ("func.call", "util.call")


class _SizeReader:
    """Reads a function, and functions that it calls."""

    def __init__(self, functions: Mapping[str, ir.Operation]) -> None:
        self._functions = functions
        self._symbols: list[str] = []
        self._defined: dict[Variable, SizeTerm] = {}
        self._conditions: list[SizeTerm] = []
        self._sizes = set[Variable]()
        self._large = set[int]()
        self._places: list[tuple[int, ...]] = []
        self._depth = 0
        self._read = 0

    def rules(self, function: ir.Operation) -> SizeRules:
        arguments = function.regions[0].blocks[0].arguments
        own = [each for each in arguments if each.type != hal_fence(function.context)]
        known: dict[ir.Value, _Known] = {}
        places = self._places
        for number, argument in enumerate(own):
            taken = taken_as(argument)
            shape = taken.shape
            if not shape and taken.element_type[:1] == "i":
                known[argument] = _variable((number,))
                continue
            known[argument] = number
            places += [(number, place) for place, size in enumerate(shape or ()) if size is None]
            for place, bound in enumerate(bounds_of_type(argument.type)):
                if bound is not None:
                    self._require(_apply(operator.le, _variable((number, place)), _number(bound)))
        if places or any(
            isinstance(each, SizeTerm) or taken_as(value).opaque for value, each in known.items()
        ):
            self._block(function, known)
        numbers = sorted(each for each in self._sizes if len(each) == 1 and not isinstance(each, str))
        return SizeRules([*places, *numbers], self._symbols, self._defined, self._conditions, self._large)

    def _block(self, function: ir.Operation, known: dict[ir.Value, _Known]) -> Sequence[ir.Value]:
        """Read the first block; returns its last op's operands."""
        op = None
        for op in ops_in(function.regions[0].blocks[0]):
            self._read += 1
            if self._read > _MOST_READ:
                return []
            for result, found in zip(op.results, self._results(op, known), strict=False):
                if found is not None:
                    known[result] = found
        return list(op.operands) if op is not None else []

    def _results(self, op: ir.Operation, known: dict[ir.Value, _Known]) -> Iterable[_Known | None]:
        operands = [known.get(each) for each in op.operands]
        terms = [each for each in operands if isinstance(each, SizeTerm)]
        if op.name in _CONSTANTS:
            return [_constant(op)]
        if op.name == "torch.symbolic_int":
            return [self._symbol(op)]
        if op.name == "torch.bind_symbolic_shape":
            self._bind(op, operands)
        if not any(each is not None for each in operands):
            return []
        made = [each.type for each in op.results if isinstance(each.type, ir.RankedTensorType)]
        if any(not each.has_static_shape for each in made):  # numbers of which it makes sizes are sizes
            self._sizes |= {each for term in terms for each in term.of}
        if op.name in _DIMENSIONS or op.name in _DIMENSION_OPERANDS:
            return [self._dimension(op, operands)]
        if op.name == "util.assume.int":
            return self._assumed(op, operands)
        called = op.attributes["call_target_name"] if op.name == "stablehlo.custom_call" else None
        if op.name == "cf.assert" or (called and ir.StringAttr(called).value == "shape_assertion"):
            self._require(operands[0])
        if op.name in ("flow.tensor.tie_shape", "hal.tensor.import"):
            self._tie(op, operands)
        if op.name in _CALLS:
            return self._called(op, operands)
        if op.name in _SAME or (op.name == "stablehlo.reshape" and isinstance(operands[0], SizeTerm)):
            return operands[:1]
        return [_computed(op, operands)] if len(terms) == len(operands) else []

    def _dimension(self, op: ir.Operation, operands: Sequence[_Known | None]) -> SizeTerm | None:
        number, index = operands[0], operands[-1]
        if op.name in _DIMENSIONS:
            place = ir.IntegerAttr(op.attributes[_DIMENSIONS[op.name]]).value
        elif isinstance(index, SizeTerm) and not index.of:
            place = int(index.at({})[0])
        else:
            return None
        if not isinstance(number, int):
            return None
        if op.name == _OF_VIEW and (number, place) not in self._places:  # its type does not tell
            self._places.append((number, place))
        return _variable((number, place))

    def _require(self, condition: _Known | None) -> None:
        if isinstance(condition, SizeTerm):
            self._conditions.append(condition)

    def _define(self, variable: Variable, term: SizeTerm) -> None:
        """A variable is computed from others, unless it is one of these."""
        if variable in self._defined or variable in _free_in(term.of, self._defined):
            self._require(_apply(operator.eq, _variable(variable), term))
        else:
            self._defined[variable] = term

    def _symbol(self, op: ir.Operation) -> SizeTerm:
        name = ir.StringAttr(op.attributes["symbol_name"]).value
        low, high = (ir.IntegerAttr(op.attributes[each]).value for each in ("min_val", "max_val"))
        self._symbols.append(name)
        symbol = _variable(name)
        self._large |= {low, high}
        self._require(_apply(operator.ge, symbol, _number(low)))
        self._require(_apply(operator.le, symbol, _number(high)))
        return symbol

    def _bind(self, op: ir.Operation, operands: Sequence[_Known | None]) -> None:
        """Torch's symbolic shape of an input: an expression of symbols for each dimension."""
        number, *symbols = operands
        if isinstance(number, int):
            results = ir.AffineMapAttr(op.attributes["shape_expressions"]).value.results
            for place, expression in enumerate(results):
                term = _affine(expression, (), symbols)
                if term is not None and term.of:
                    self._define((number, place), term)

    def _tie(self, op: ir.Operation, operands: Sequence[_Known | None]) -> None:
        """The dynamic sizes of an input, as a program gives them to an op on it."""
        number, *sizes = operands
        kind = op.results[0].type
        if not isinstance(number, int) or not isinstance(kind, ir.RankedTensorType):
            return
        dynamic = [place for place in range(kind.rank) if kind.is_dynamic_dim(place)]
        for place, size in zip(dynamic, sizes, strict=False):
            if isinstance(size, SizeTerm):
                self._define((number, place), size)

    def _assumed(self, op: ir.Operation, operands: Sequence[_Known | None]) -> Sequence[_Known | None]:
        for operand, cases in zip(operands, ir.ArrayAttr(op.attributes["assumptions"]), strict=True):
            known = list(map(assumption, ir.ArrayAttr(cases)))
            if isinstance(operand, SizeTerm) and known:
                self._large |= {bound for case in known for bound in case.values()}
                self._require(_apply(partial(_allowed, known), operand))
        return operands

    def _called(self, op: ir.Operation, operands: Sequence[_Known | None]) -> Sequence[_Known | None]:
        callee = self._functions.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        if callee is None or not callee.regions[0].blocks or self._depth >= _MOST_DEEP:
            return []
        self._depth += 1
        pairs = zip(callee.regions[0].blocks[0].arguments, operands, strict=True)
        known = {argument: each for argument, each in pairs if each is not None}
        self._name_arguments(callee, operands)
        found = [known.get(each) for each in self._block(callee, known)]
        self._depth -= 1
        return found

    def _name_arguments(self, callee: ir.Operation, operands: Sequence[_Known | None]) -> None:
        """JAX names the sizes that it gives to the exported function."""
        if "arg_attrs" not in callee.attributes:
            return
        for operand, each in zip(operands, ir.ArrayAttr(callee.attributes["arg_attrs"]), strict=True):
            attributes = ir.DictAttr(each)
            if isinstance(operand, SizeTerm) and "jax.global_constant" in attributes:
                name = ir.StringAttr(attributes["jax.global_constant"]).value
                if name and name not in self._symbols:
                    self._symbols.append(name)
                    self._define(name, operand)


def _variable(variable: Variable) -> SizeTerm:
    return SizeTerm(frozenset([variable]), lambda env: env[variable])


def _apply(function: Callable[..., Any], *terms: SizeTerm) -> SizeTerm:
    of = frozenset[Variable]().union(*(each.of for each in terms))
    return SizeTerm(of, lambda env: function(*(each.at(env) for each in terms)))


def _number(value: int) -> SizeTerm:
    return SizeTerm(frozenset(), lambda _: np.array([value], np.int64))


def _constant(op: ir.Operation) -> SizeTerm | None:
    value = op.attributes["value"]
    if isinstance(value, ir.IntegerAttr):
        return _number(value.value)
    if isinstance(value, ir.DenseIntElementsAttr) and value.is_splat and not ir.ShapedType(value.type).rank:
        return _number(int(value[0]))
    return None


def _computed(op: ir.Operation, operands: Sequence[_Known | None]) -> SizeTerm | None:
    """The result of an op on numbers."""
    terms = cast("list[SizeTerm]", list(operands))
    dialect, _, name = op.name.partition(".")
    if op.name in ("affine.apply", "affine.min", "affine.max"):
        return _affine_op(op, terms)
    shapes = [each.type for each in op.results if isinstance(each.type, ir.ShapedType)]
    if dialect not in _ARITHMETIC or any(each.rank for each in shapes):
        return None
    if name == "select":
        return _apply(_selected, *terms)
    if name == "cmpi":
        return _apply(_COMPARED[_PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value]], *terms)
    if name == "compare":
        return _apply(_COMPARED[enumerator_of(op.attributes["comparison_direction"])], *terms)
    return _apply(_BINARY[name], *terms) if name in _BINARY else None


def _allowed(cases: Sequence[Mapping[str, int]], sizes: Array) -> Array:
    """Where sizes satisfy one of several assumptions."""
    allowed = np.zeros(sizes.shape, bool)
    for case in cases:
        least, most = case.get("umin", 0), case.get("umax", np.iinfo(np.int64).max)
        allowed |= (sizes >= least) & (sizes <= most) & (sizes % case.get("udiv", 1) == 0)
    return allowed


def _affine_op(op: ir.Operation, terms: Sequence[SizeTerm]) -> SizeTerm | None:
    affine = ir.AffineMapAttr(op.attributes["map"]).value
    dims, symbols = terms[: affine.n_dims], terms[affine.n_dims :]
    found = [_affine(each, dims, symbols) for each in affine.results]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    choose = np.maximum.reduce if op.name == "affine.max" else np.minimum.reduce
    return known[0] if len(known) == 1 else _apply(lambda *each: choose(np.broadcast_arrays(*each)), *known)


AFFINE: tuple[tuple[type[ir.AffineBinaryExpr], Callable[..., Array]], ...] = (
    (ir.AffineAddExpr, operator.add), (ir.AffineMulExpr, operator.mul),
    (ir.AffineModExpr, _modulo), (ir.AffineFloorDivExpr, _floored),
    (ir.AffineCeilDivExpr, _rounded_up),
)  # fmt: skip


def _affine(
    expression: ir.AffineExpr, dims: Sequence[_Known | None], symbols: Sequence[_Known | None]
) -> SizeTerm | None:
    """An affine expression of terms; None if one of these is not known."""
    if isinstance(expression, ir.AffineConstantExpr):
        return _number(expression.value)
    if isinstance(expression, ir.AffineDimExpr | ir.AffineSymbolExpr):
        of = dims if isinstance(expression, ir.AffineDimExpr) else symbols
        found = of[expression.position]
        return found if isinstance(found, SizeTerm) else None
    for kind, function in AFFINE:
        if isinstance(expression, kind):
            left, right = (_affine(each, dims, symbols) for each in (expression.lhs, expression.rhs))
            return None if left is None or right is None else _apply(function, left, right)
    return None
