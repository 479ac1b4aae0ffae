"""Translate formulas into macros of `steps_i8.h`, and refuse formulas that it does not compute."""

from __future__ import annotations

import math

from iree_tuner.kernels.formula import CONSTANT, INPUT, SUM, Term
from iree_tuner.kernels.integers import Integers
from iree_tuner.kernels.problem import Array, Problem

EXACT = "-ffp-contract=off"
"""A flag of the C compiler, which then fuses no products and sums: 8-bit results are compared bit by bit."""

_TYPES = {"f32": "float", "i32": "int", "i8": "i8"}
_WHOLE = ("addi", "subi", "muli", "maxsi", "minsi")
_BY_RESULT = ("fptoui",)
_BY_OPERAND = ("uitofp",)


def refused_integers(problem: Problem) -> str:
    """Why kernels of integers do not support a problem's types or its formula; empty if they do."""
    integers = problem.integers
    if integers is None:
        return f"its types are {', '.join(map(str, problem.workload.types))}, not 8-bit integers"
    for term in integers.formula:
        if term.op == CONSTANT and not math.isfinite(term.value):
            return "a constant after its sums is not finite"
        name = _name(term)
        if name in _WHOLE and term.element != "i32":
            return f"{name} after its sums is not of 32 bits"
        from_sum = [integers.formula[each].element for each in term.of]
        if name == "trunci" and term.element != "i8":
            return "trunci after its sums is not to 8 bits"
        if name in ("sitofp", "uitofp", "extsi", "extui") and not set(from_sum) <= {"i8", "i32"}:
            return f"{name} after its sums is of another type"
    return ""


def inputs_of(problem: Problem) -> list[tuple[Array, str]]:
    """The formula's inputs, each with the part of the result that it has elements for (`Term.along`)."""
    terms = () if problem.integers is None else problem.integers.formula
    along = {term.input: term.along for term in terms if term.op == INPUT}
    return [(array, along[number]) for number, array in enumerate(problem.inputs[2:])]


def formula_of(problem: Problem) -> dict[str, str]:
    """The macros for a problem's formula."""
    integers = problem.integers or Integers((True, True))
    formula = integers.formula or (Term(SUM, "i32"),)
    lines: list[str] = []
    for number, term in enumerate(formula):
        kind = "vector" if term.element == "f32" else "ints"
        lines.append(f"const {kind} t{number} = {_expression(term, formula)};")
    inputs = inputs_of(problem)
    kind = "vector" if formula[-1].element == "f32" else "ints"
    return {
        "EXTRAS": " ".join(
            f"EXTRA({n}, {_TYPES[array.element_type]})" for n, (array, _) in enumerate(inputs)
        ),
        "FORMULA": " ".join([*lines, f"const {kind} found = t{len(formula) - 1};"]),
        "RESULT": _TYPES[problem.result.element_type],
        **{f"ALONG_{number}": str(int(along == "all")) for number, (_, along) in enumerate(inputs)},
    }


def _expression(term: Term, formula: tuple[Term, ...]) -> str:
    if term.op == SUM:
        return "sum"
    if term.op == CONSTANT:
        return f"all({term.value.hex()}f)" if term.element == "f32" else f"every({int(term.value)})"
    if term.op == INPUT:
        where, load = f"given.e{term.input}", f"load_{_TYPES[term.element]}"
        if term.along == "none":
            return f"{'all' if term.element == 'f32' else 'every'}(*{where})"
        return f"{load}({where} + {'place' if term.along == 'all' else 'column'}, count)"
    name = _name(term)
    operands = list(term.of)
    products = [each for each in operands if _name(formula[each]) == "mulf" and _uses(each, formula) == 1]
    if name == "addf" and products:
        # The compiler lets LLVM fuse both. LLVM takes the first operand that is a product used only here.
        product, more = products[0], operands[1 - operands.index(products[0])]
        return f"fused({', '.join(f't{each}' for each in (*formula[product].of, more))})"
    if name in ("maximumf", "minimumf"):
        # With a constant, one instruction is enough: it returns its second operand for a NaN.
        constants = [each for each in operands if formula[each].op == CONSTANT]
        if constants:
            operands.sort(key=lambda each: each not in constants)
            name = {"maximumf": "larger", "minimumf": "smaller"}[name]
    if name in _BY_RESULT:
        name = f"{name}_{term.element}"
    if name in _BY_OPERAND:
        name = f"{name}_{formula[term.of[0]].element}"
    return f"{name}({', '.join(f't{each}' for each in operands)})"


def _uses(number: int, formula: tuple[Term, ...]) -> int:
    return sum(term.of.count(number) for term in formula)


def _name(term: Term) -> str:
    """The name of an op without its dialect."""
    return term.op.rpartition(".")[2]
