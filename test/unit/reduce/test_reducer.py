from __future__ import annotations

from itertools import pairwise

import pytest
from amounts import amount
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import InProcess
from iree.compiler import ir
from iree.compiler.dialects import arith, func, math

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.errors import TunerError
from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import STEPS, Reducer, ReductionProgress, count, edited

CONTEXT = new_context()


def reduced(text: str, shows, jobs: int = 3) -> tuple[str, InProcess]:
    lab = InProcess(shows, jobs)
    return Reducer(lab).run(Program("test.mlir", text.encode())).text, lab


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, int]:
    """A module of functions with random ops, each with a number, and how many ops there are."""
    numbers = 0
    with CONTEXT, ir.Location.unknown():
        module = ir.Module.create()
        kinds = [ir.RankedTensorType.get([4], each) for each in (ir.F32Type.get(), ir.F16Type.get())]
        for which in range(draw(st.integers(1, 3))):
            inputs = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
            with ir.InsertionPoint(module.body):
                function = func.FuncOp(f"f{which}", ir.FunctionType.get(inputs, []))
            block = function.add_entry_block()
            with ir.InsertionPoint(block):
                values = list(block.arguments)
                for _ in range(draw(st.integers(0, 8))):
                    values.append(_op(draw, values))
                    values[-1].owner.attributes["test.number"] = ir.StringAttr.get(f"n{numbers}.")
                    numbers += 1
                back = draw(st.lists(st.sampled_from(values), max_size=3))
                func.ReturnOp(back)
            signature = ir.FunctionType.get(inputs, [value.type for value in back])
            function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        module.operation.verify()
        return str(module), numbers


def _op(draw: st.DrawFn, values: list[ir.Value]) -> ir.Value:
    first = draw(st.sampled_from(values))
    fitting = [value for value in values if value.type == first.type]
    match draw(st.integers(0, 2)):
        case 0:
            return math.absf(first)
        case 1:
            return arith.addf(first, draw(st.sampled_from(fitting)))
        case _:
            narrow = ir.RankedTensorType(first.type).element_type == ir.F16Type.get()
            other = ir.RankedTensorType.get([4], ir.F32Type.get() if narrow else ir.F16Type.get())
            return arith.extf(other, first) if narrow else arith.truncf(other, first)


@settings(max_examples=amount(4, 400))
@given(made=modules(), data=st.data())
def test_random_modules_keep_what_is_needed_and_nothing_else(made, data):
    text, numbers = made
    needed = data.draw(st.sets(st.sampled_from(range(numbers)), max_size=3)) if numbers else set()

    def shows(candidate: str) -> bool:
        return all(f'"n{number}."' in candidate for number in needed)

    found, lab = reduced(text, shows)
    assert shows(found)
    assert len(set(lab.asked)) == len(lab.asked), "none is judged twice"
    for asked in lab.asked:
        ir.Module.parse(asked, CONTEXT)
    ops = list(walk(ir.Module.parse(found, CONTEXT).operation))
    homes = sum(op.name == "func.func" for op in ops)
    assert sum("test.number" in op.attributes for op in ops) == len(needed)
    assert len(ops) == 1 + len(needed) + 2 * homes  # the module, ops, functions and their returns
    assert homes <= len(needed)
    for step in range(len(STEPS)):
        singles = (edited(found, step, frozenset({edit})) for edit in range(count(found, step)))
        smaller = (each.text for each in singles if each is not None and each.text != found)
        assert not any(map(shows, smaller)), STEPS[step].name
    assert reduced(text, shows, jobs=1)[0] == found, "it does not depend on how many are judged at a time"


TWO = """
func.func @f(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = arith.mulf %0, %0 : f32
  %2 = math.exp %1 : f32
  return %2 : f32
}
func.func private @g()
"""


def test_ops_that_only_show_it_together_stay_together():
    found, _ = reduced(TWO, lambda text: ("addf" in text) == ("mulf" in text) and "f32" in text)
    assert "addf" not in found
    found, _ = reduced(TWO, lambda text: "addf" in text and "exp" in text)
    assert [name for name in ("addf", "mulf", "exp", "@g") if name in found] == ["addf", "exp"]


def test_an_input_that_does_not_show_it_is_an_error_with_what_the_judge_said():
    with pytest.raises(
        TunerError, match=r"test.mlir: the input does not trigger the defect: .* status 1, told"
    ):
        reduced(TWO, lambda _: False)


def test_a_defect_of_the_text_itself_is_told():
    with pytest.raises(TunerError, match="after it is printed and parsed"):
        reduced("// a comment\n" + TWO, lambda text: "comment" in text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"func.func @f(", "test.mlir:1:13: cannot parse"),
        (b"\xff\xfe", "neither text nor bytecode"),
        (b"func.func @f() -> f32 { return }", "cannot parse"),
    ],
)
def test_what_is_no_module_is_never_judged(data, message):
    lab = InProcess(lambda _: True)
    with pytest.raises(TunerError, match=message):
        Reducer(lab).run(Program("test.mlir", data))
    assert not lab.asked


def test_the_smallest_so_far_survives_an_interruption():
    asked = []

    def shows(text: str) -> bool:
        asked.append(text)
        if len(asked) == 6:
            raise KeyboardInterrupt
        return "exp" in text

    reducer = Reducer(InProcess(shows))
    with pytest.raises(KeyboardInterrupt):
        reducer.run(Program("test.mlir", TWO.encode()))
    found = reducer.progress()
    assert found is not None
    assert found.smallest.text in asked[:5]
    assert found.smallest.size < found.start.size


def test_progress_is_told_with_falling_sizes():
    told: list[ReductionProgress] = []
    Reducer(InProcess(lambda text: "exp" in text), told.append).run(Program("test.mlir", TWO.encode()))
    sizes = [each.smallest.size for each in told]
    assert all(later == earlier or later < earlier for earlier, later in pairwise(sizes))
    assert told[-1].judged > 1
    assert told[-1].start == told[0].start
