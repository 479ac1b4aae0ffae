"""`smt.assert` in a constraints op, as a compiler's developer may write it: one more constraint."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from amounts import amount
from by_hand import CONTEXT, bare_knob, both, space_of
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir
from iree.compiler.dialects import smt

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.space.build import Restriction, restricted
from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import Boolean, Integer, constant, if_else, lookup, require
from iree_tuner.space.space import Space

Body = Callable[[Integer, Integer], Boolean]


def raw(condition: Boolean) -> None:
    smt.AssertOp(condition.value)


def xy(*conditions: Body) -> Space:
    """A space of x and y with these raw asserts."""

    def fill() -> None:
        x, y = knob("x", (1, 2, 4), "1, 2 or 4"), knob("y", (1, 2, 4, 8), "1, 2, 4 or 8")
        for each in conditions:
            raw(each(x, y))

    return space_of(fill, ("x", "y"))


def implies(left: Boolean, right: Boolean) -> Boolean:
    return Boolean(smt.ImpliesOp(left.value, right.value).result)


def test_it_is_one_more_constraint() -> None:
    free, held = xy(), xy(lambda x, y: x * y <= 8)
    assert free.count() == 12
    ours, judged = both(held)
    assert ours == judged == {pair for pair in both(free)[0] if pair[0] * pair[1] <= 8}
    assert held.contains({"x": 2, "y": 4})
    assert not held.contains({"x": 4, "y": 4})
    assert held.complete({"x": 4})["y"] <= 2
    assert {member["y"] for member in held.neighbors({"x": 4, "y": 2})} == {1, 2}


@pytest.mark.parametrize(
    ("condition", "assignment", "says"),
    [
        (lambda x, y: x * y <= 8, {"x": 4, "y": 4}, "x * y <= 8 (x = 4, y = 4)"),
        (lambda x, y: y.is_one_of([2, 4]), {"x": 1, "y": 8}, "y in {2, 4} (y = 8)"),
        (lambda x, y: (x + y) % 4 > 0, {"x": 4, "y": 8}, "(x + y) % 4 > 0 (x = 4, y = 8)"),
        (lambda x, y: ~((x > 2) & x.equals(y)), {"x": 4, "y": 4}, "not (x > 2 and x == y) (x = 4, y = 4)"),
        (lambda x, y: implies(x > 2, y < 2), {"x": 4, "y": 8}, "x > 2 -> y < 2 (x = 4, y = 8)"),
        (lambda x, y: x - (y - x) > 0, {"x": 1, "y": 8}, "x - (y - x) > 0 (x = 1, y = 8)"),
        (lambda x, y: if_else(x > 1, y, 4) < 8, {"x": 2, "y": 8}, "if(x > 1, y, 4) < 8 (x = 2, y = 8)"),
        (lambda x, y: lookup(x, [7, 5, 3]) < 4, {"x": 1, "y": 1}, "lookup(x, [7, 5, 3]) < 4 (x = 1)"),
    ],
)
def test_what_is_wrong_is_the_condition_with_values(condition: Body, assignment, says: str) -> None:
    assert xy(condition).violations(assignment) == [says]


def test_a_part_of_an_assignment_and_asserts_that_conflict_are_told() -> None:
    space = xy(lambda x, y: (x * y % 8).equals(0), lambda x, y: ((x + y) % 3).equals(2))
    (told,) = space.violations_of_part({"x": 1})
    assert told.startswith("not in combination: ")
    assert told.endswith("; x * y % 8 == 0 (x = 1, y = ?); (x + y) % 3 == 2 (x = 1, y = ?)")
    assert space.violations_of_part({"x": 4}) == []


def test_it_stays_in_text_in_bytecode_and_beside_others() -> None:
    space = xy(lambda x, y: x * y <= 8)
    with CONTEXT:
        read = [
            Space(space.workload, ir.Module.parse(each)) for each in (space.text, to_bytecode(space.module))
        ]
    (part,) = restricted([space], Restriction.of([], ["y=4,8"]))
    for each in (*read, part):
        assert each.violations({"x": 4, "y": 8}) == ["x * y <= 8 (x = 4, y = 8)"]
    assert [list(each.enumerate()) for each in read] == [list(space.enumerate())] * 2
    assert part.count() == 3


def test_bounds_may_be_in_raw_asserts_alone() -> None:
    def fill() -> None:
        x = bare_knob("x")
        raw(~((x < 3) | (x > 6)))

    space = space_of(fill, ("x",))
    assert [member["x"] for member in space.enumerate()] == [3, 4, 5, 6]
    assert space.violations({"x": 7}) == ["not (x < 3 or x > 6) (x = 7)"]


def test_a_long_condition_is_cut_and_a_shared_one_is_not_written_out() -> None:
    def doubled(x: Integer, times: int) -> Integer:
        for _ in range(times):
            x = x + x
        return x

    (cut,) = xy(lambda x, y: doubled(x, 6) > 10**6).violations({"x": 1, "y": 1})
    assert cut.startswith("x + x")
    assert cut.endswith(" ... (x = 1)")
    assert len(cut) < 200
    (long,) = xy(lambda x, y: doubled(x, 10) < 0).violations({"x": 1, "y": 1})
    assert long == "a condition that is too long to show (x = 1)"


def test_an_absolute_value_does_not_end_the_process() -> None:
    """The compiler's exporter calls abort() for it."""

    def apart(x: Integer, y: Integer) -> Boolean:
        return Integer(smt.IntAbsOp((x - y).value).result) >= 4

    space = xy(apart)
    ours, judged = both(space)
    assert ours == judged == {(1, 8), (2, 8), (4, 8)}
    assert space.violations({"x": 4, "y": 1}) == ["abs(x - y) >= 4 (x = 4, y = 1)"]
    assert "smt.int.abs" in space.text


def test_what_is_no_integer_and_no_boolean_is_refused_by_name() -> None:
    def body(x: Integer, y: Integer) -> Boolean:
        return Boolean(
            smt.EqOp([smt.Int2BVOp(smt.BitVectorType.get(8), each.value).result for each in (x, y)]).result
        )

    with pytest.raises(TunerError, match=r"does not know 'smt\.int2bv'"):
        xy(body)


# All that the interpreter knows, over three knobs of few values.
INTEGERS = st.recursive(
    st.tuples(st.just("knob"), st.integers(0, 2)) | st.tuples(st.just("constant"), st.integers(-3, 6)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul"]), inner, inner),
        st.tuples(st.sampled_from(["div", "mod"]), inner, st.integers(1, 4)),
        st.tuples(st.just("abs"), inner),
        st.tuples(st.just("lookup"), inner, st.lists(st.integers(-2, 5), min_size=1, max_size=3)),
    ),
    max_leaves=4,
)
COMPARISONS = st.one_of(
    st.tuples(st.sampled_from(["lt", "le", "gt", "ge"]), INTEGERS, INTEGERS),
    st.tuples(st.sampled_from(["eq", "distinct"]), st.lists(INTEGERS, min_size=2, max_size=3)),
    st.tuples(st.just("truth"), st.booleans()),
)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or", "xor", "implies", "same", "differ"]), inner, inner),
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("if"), inner, inner, inner),
    ),
    max_leaves=4,
)


def integer(tree, knobs: list[Integer]) -> Integer:
    kind, *parts = tree
    match kind:
        case "knob":
            return knobs[parts[0]]
        case "constant":
            return constant(parts[0])
        case "abs":
            return Integer(smt.IntAbsOp(integer(parts[0], knobs).value).result)
        case "lookup":
            return lookup(integer(parts[0], knobs), parts[1])
        case "div" | "mod":
            value = integer(parts[0], knobs)
            return value // parts[1] if kind == "div" else value % parts[1]
        case _:
            left, right = (integer(each, knobs) for each in parts)
            return {"add": left.__add__, "sub": left.__sub__, "mul": left.__mul__}[kind](right)


def boolean(tree, knobs: list[Integer]) -> Boolean:
    kind, *parts = tree
    if kind in ("lt", "le", "gt", "ge"):
        left, right = (integer(each, knobs).value for each in parts)
        return Boolean(smt.IntCmpOp(smt.IntPredicate[kind], left, right).result)
    if kind in ("eq", "distinct"):
        values = [integer(each, knobs).value for each in parts[0]]
        return Boolean((smt.EqOp if kind == "eq" else smt.DistinctOp)(values).result)
    if kind == "truth":
        return Boolean(smt.BoolConstantOp(parts[0]).result)
    values = [boolean(each, knobs).value for each in parts]
    if kind in ("not", "implies", "if"):
        return Boolean({"not": smt.NotOp, "implies": smt.ImpliesOp, "if": smt.IteOp}[kind](*values).result)
    several = {"and": smt.AndOp, "or": smt.OrOp, "xor": smt.XOrOp, "same": smt.EqOp, "differ": smt.DistinctOp}
    return Boolean(several[kind](values).result)


@settings(max_examples=amount(10, 60), deadline=None)
@given(
    values=st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), min_size=3, max_size=3),
    asserts=st.lists(st.tuples(st.booleans(), CONDITIONS), min_size=1, max_size=3),
)
def test_raw_asserts_mean_what_they_mean_to_z3(values, asserts) -> None:
    names = ("a", "b", "c")

    def fill() -> None:
        knobs = [knob(name, sorted(each), "listed") for name, each in zip(names, values, strict=True)]
        for is_raw, tree in asserts:
            condition = boolean(tree, knobs)
            if is_raw:
                raw(condition)
            else:
                require(condition, "an assert of IREE's")

    space = space_of(fill, names)
    ours, judged = both(space)
    assert ours == judged
    for x, y, z in [(min(each) for each in values), (max(each) for each in values)]:
        assignment = dict(zip(names, (x, y, z), strict=True))
        assert bool(space.violations(assignment)) == (tuple(assignment.values()) not in judged)
