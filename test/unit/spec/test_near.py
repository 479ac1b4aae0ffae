"""Near misses: matchers that are right but for one condition, which is named with its values."""

from __future__ import annotations

from pathlib import Path

import pytest
from spec.near_cases import BASES, HELPERS, cases, spec_of

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Crash, WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import parse_target

INPUTS = Path(__file__).resolve().parents[2] / "spec" / "Inputs"
PROGRAM = (INPUTS / "near_program.mlir").read_text()
HOST = parse_target("llvm-cpu:host")
CASES = cases()
DISPATCHES = {
    "convolution": "conv",
    "attention": "attention",
    "dag": "rows",
    "regions": "rows",
    "structured": "rows",
}
DISPATCHES |= dict.fromkeys(BASES.keys() - DISPATCHES, "mm")


@pytest.fixture(scope="module")
def workers():
    with Workers() as pool:
        yield pool


@pytest.fixture(scope="module")
def look(workers):
    """The check of a spec's text against a program, with near misses."""

    def check(spec, program, target=HOST):
        module = load_spec(spec, new_context())
        return check_against_program(module, program, target, workers=workers, near=True)

    return check


@pytest.fixture(scope="module")
def found(look):
    """The check of all matchers that hit, and of all cases, by one compilation."""
    larger = HELPERS.replace("is_a_matmul", "is_a_larger_matmul").replace("[512]", "[1024]")
    larger = larger[: larger.index("  transform.named_sequence @count_absolutes")]
    matchers = {f"base_{name}": body for name, body in BASES.items()}
    matchers |= {f"case_{number}": case.matcher for number, case in enumerate(CASES)}
    return look(spec_of(matchers, HELPERS + larger), PROGRAM)


def reasons(check) -> list[str]:
    return [f"@{near.matcher} {near.dispatch}: {near.reason}" for near in check.near]


APART = [
    ("contraction", "convolution", "attention", "dag"),
    ("values", "regions"),
    ("helper", "structured"),
    ("body",),
]
"""Matchers of different ops: none takes another's."""


@pytest.mark.parametrize("bases", APART, ids="-".join)
def test_what_the_cases_are_made_of_hits(look, bases):
    check = look(spec_of({base: BASES[base] for base in bases}, HELPERS), PROGRAM)
    assert [[hit.dispatch for hit in each.hits] for each in check.matchers] == [
        [f"{DISPATCHES[base]}_dispatch_0"] for base in bases
    ]


def test_each_of_them_is_looked_at():
    assert sorted(base for bases in APART for base in bases) == sorted(BASES)


def test_of_matchers_of_one_op_the_first_takes_it(found):
    """All conditions of the others hold too, which is said."""
    hits = [each.matcher for each in found.matchers if each.count == "one"]
    assert hits == ["base_contraction", "base_convolution", "base_attention", "base_dag"]
    taken = {near.matcher: near.reason for near in found.near if near.kind == "earlier"}
    assert taken == {
        "base_values": "all conditions hold, but @base_contraction comes first",
        "base_helper": "all conditions hold, but @base_contraction comes first",
        "base_body": "all conditions hold, but @base_contraction comes first",
        "base_regions": "all conditions hold, but @base_dag comes first",
        "base_structured": "all conditions hold, but @base_dag comes first",
    }


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_one_condition_that_is_wrong_is_named(found, number):
    case = CASES[number]
    (nearest,) = [
        near
        for near in found.near
        if near.matcher == f"case_{number}" and near.dispatch == f"{DISPATCHES[case.base]}_dispatch_0"
    ]
    assert (nearest.reason, nearest.kind) == (case.reason, case.kind)


def test_the_line_of_a_condition_in_a_helper(look):
    text = spec_of({"wrong": BASES["helper"]}, HELPERS.replace("[512]", "[1024]"))
    (near,) = look(text, PROGRAM).near
    assert "dims_equal %n, [1024]" in text.splitlines()[near.line - 1]


def test_nothing_is_looked_for_where_all_hits(look):
    """Each of two matchers nearly matches what the other hits."""
    matmul, attention = BASES["contraction"], BASES["attention"]
    halves = {"small": matmul, "large": matmul.replace("[256]", "[512]")}
    program = two_matmuls(256, 512)
    assert reasons(look(spec_of(halves), program)) == []
    also = look(spec_of({**halves, "attention": attention}), program)
    assert "@small mm512_dispatch_0: size of m: 512, expected 256" in reasons(also)


def test_a_dispatch_that_nothing_hits(look):
    """All matchers hit something."""
    check = look(spec_of({"small": BASES["contraction"]}), two_matmuls(256, 512))
    assert check.problems == ()
    assert reasons(check) == ["@small mm512_dispatch_0: size of m: 512, expected 256"]


def two_matmuls(*sizes):
    (matmul,) = PROGRAM.split("func.func @conv")[:1]
    return "".join(matmul.replace("@mm", f"@mm{size}").replace("256", str(size)) for size in sizes)


def test_those_of_which_more_holds_come_first(look):
    wrong = {
        "types": BASES["contraction"].replace("lhs_type = f32", "lhs_type = f16"),
        "k": BASES["contraction"].replace("[128]", "[64]"),
        "maps": BASES["contraction"].replace("(d2, d1)", "(d1, d2)"),
        "m": BASES["contraction"].replace("[256]", "[64]"),
    }
    check = look(spec_of(wrong), two_matmuls(256))
    assert [near.matcher for near in check.near] == ["k", "m", "maps", "types"]


def test_of_several_ops_the_nearest_is_told(look):
    wrong = BASES["dag"].replace("maximumf %abs", "addf %abs")
    check = look(spec_of({"wrong": wrong, "fill": FILL}), PROGRAM)
    first = {near.matcher: near for near in reversed(check.near)}
    assert (first["wrong"].dispatch, first["wrong"].kind) == ("rows_dispatch_0", "body")
    attention = next(near for near in check.near if near.dispatch == "attention_dispatch_0")
    assert attention.op == "linalg.fill"
    assert attention.reason == "type of operand 1: tensor<4x64x64xf32>, expected tensor<4x64x65xf32>"


FILL = """
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %init = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %init = tensor<4x64x65xf32> : !transform.any_value"""


@pytest.mark.parametrize("name", ["cuda:sm_80", "vulkan:ampere", "hip:gfx942"])
def test_on_gpus_matmuls_are_generics(look, name):
    wrong = {
        "k": BASES["contraction"].replace("[128]", "[64]"),
        "named": BASES["values"].replace("?x128", "?x64"),
    }
    check = look(spec_of(wrong), two_matmuls(256), parse_target(name))
    assert reasons(check) == ["@k mm256_dispatch_0: size of k: 128, expected 64"]
    assert [near.op for near in check.near] == ["linalg.generic"]


def test_a_spec_with_an_entry_of_another_name_and_a_prologue(look):
    """The batch of one is back when the second `foreach_match` begins, as a pass before it gives it."""
    text = spec_of({"first": FILL, "second": BASES["convolution"]})
    pairs = "@first -> @mark, @second -> @mark"
    assert pairs in text
    match = f"transform.foreach_match in %all {pairs} : (!transform.any_op) -> !transform.any_op"
    one_by_one = """transform.foreach_match in %all @first -> @mark : (!transform.any_op) -> !transform.any_op
    %ready = transform.apply_registered_pass "iree-codegen-insert-batch-dim-for-batchless-conv" to %done
      : (!transform.any_op) -> !transform.any_op
    %all_done = transform.foreach_match in %ready @second -> @mark
      : (!transform.any_op) -> !transform.any_op"""
    text = text.replace("@__kernel_config", "@main").replace(match, one_by_one)
    text = text.replace("transform.yield %done", "transform.yield %all_done")
    check = look(text, (INPUTS / "conv.mlir").read_text())
    first, second = sorted(check.near, key=lambda near: near.matcher)
    assert first.reason == "type of operand 1: tensor<56x56x64xf32>, expected tensor<4x64x65xf32>"
    assert second.reason == "sizes of output image: [56, 56], expected [28, 28]"


def test_only_the_ops_that_a_foreach_match_is_restricted_to(look):
    text = spec_of({"fill": FILL, "matmul": BASES["contraction"].replace("[128]", "[64]")})
    restricted = """%matmuls = transform.structured.match ops{["linalg.matmul"]} in %all
      : (!transform.any_op) -> !transform.any_op
    %done = transform.foreach_match restrict_root in %matmuls"""
    text = text.replace("%done = transform.foreach_match in %all", restricted)
    check = look(
        text.replace("transform.yield %done", "transform.yield %all").replace("consumed", "readonly"), PROGRAM
    )
    assert reasons(check) == ["@matmul mm_dispatch_0: size of k: 128, expected 64"]


def test_a_matcher_that_hands_on_no_op_is_not_looked_at(look):
    text = spec_of({"unseen": BASES["contraction"].replace("[128]", "[64]")})
    unseen, rest = text.split("  transform.named_sequence @mark", 1)
    unseen = unseen.replace("-> !transform.any_op {", "{").replace(
        "transform.yield %op : !transform.any_op", "transform.yield"
    )
    rest = rest.replace("(%op: !transform.any_op {transform.readonly})", "()", 1)
    rest = rest.replace('transform.annotate %op "marked" : !transform.any_op', "")
    check = look(f"{unseen}  transform.named_sequence @mark{rest}", PROGRAM)
    assert (check.matchers[0].hits, check.near) == (None, ())


class Fragile:
    """Workers of which the first call ends in a crash."""

    def __init__(self, workers):
        self._workers = workers
        self.crashes = 1

    def submit(self, *arguments):
        return self._workers.submit(*arguments)

    def wait(self, future):
        if self.crashes:
            self.crashes -= 1
            raise WorkerError(Crash(139, ""))
        return self._workers.wait(future)


def test_what_hits_is_known_though_the_search_for_near_misses_crashes(workers):
    spec = load_spec(spec_of({"wrong": BASES["contraction"].replace("[128]", "[64]")}), new_context())
    check = check_against_program(spec, PROGRAM, HOST, workers=Fragile(workers), near=True)
    assert check.near is None
    assert [problem.kind for problem in check.problems] == ["hits_nothing"]
    with pytest.raises(TunerError, match="crashes on"):
        check_against_program(spec, PROGRAM, HOST, workers=Fragile(workers))
