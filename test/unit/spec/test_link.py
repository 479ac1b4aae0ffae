from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.grammar import DEFAULT_ENTRYPOINT, canonical, pairs, sequences
from iree_tuner.spec.link import link_specs
from iree_tuner.targets import parse_target

INPUTS = Path(__file__).resolve().parents[2] / "spec" / "Inputs"
INSERT_BATCH = "iree-codegen-insert-batch-dim-for-batchless-conv"

HELPER = """
module @{name} attributes {{transform.with_named_sequence{attribute}}} {{
  transform.named_sequence @is_it(%op: !transform.any_op {{transform.readonly}}) {{
    transform.match.operation_name %op ["{op}"] : !transform.any_op
    transform.yield
  }}
  transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
    transform.include @is_it failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @mark(%op: !transform.any_op {{transform.readonly}}) {{
    transform.annotate %op "mark" : !transform.any_op
    transform.yield
  }}
  transform.named_sequence @__kernel_config(%func: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %0 = transform.foreach_match in %func @match -> @mark : (!transform.any_op) -> !transform.any_op
    {extra}
    transform.yield %0 : !transform.any_op
  }}
}}
"""


def with_helper(context: ir.Context, op: str, *, chained: bool = False) -> ir.Module:
    extra = 'transform.print %0 name = "after" : !transform.any_op' if chained else ""
    attribute = "" if chained else f", {DEFAULT_ENTRYPOINT}"
    return ir.Module.parse(HELPER.format(name="spec", op=op, attribute=attribute, extra=extra), context)


def names(module: ir.Module) -> list[str]:
    return [pair.matcher for pair in pairs(module)]


def test_order_is_precedence(context, entry):
    first, second = build_spec([entry("softmax")], context), build_spec([entry("matmul")], context)
    assert names(link_specs([first, second])) == names(first) + names(second)
    assert names(link_specs([second, first])) == names(second) + names(first)


def test_inputs_stay_and_contexts_may_differ(entry):
    first, second = build_spec([entry("softmax")], new_context()), build_spec([entry("conv")], new_context())
    before = str(first), str(second)
    assert len(names(link_specs([first, second]))) == 2
    assert (str(first), str(second)) == before


def test_equal_entries_are_kept_once_with_the_first_annotation(context, entry):
    first = build_spec([entry("matmul")], context)
    second = build_spec([replace(entry("matmul"), provenance=None), entry("other_matmul")], context)
    linked = link_specs([first, second])
    assert len(names(linked)) == 2
    assert "speedup" in str(linked)


def test_conflicts_name_both(context, entry):
    specs = [build_spec([entry(name)], context) for name in ("matmul", "matmul_conflict")]
    with pytest.raises(TunerError, match=r"@match_\w+ of a.mlir and @match_\w+ of b.mlir .* differently"):
        link_specs(specs, labels=["a.mlir", "b.mlir"])


def test_a_prologue_is_kept_once(context, entry):
    conv, matmul = build_spec([entry("conv")], context), build_spec([entry("matmul")], context)
    linked = link_specs([matmul, conv, link_specs([conv, matmul])])
    assert str(linked).count(INSERT_BATCH) == 1
    assert str(linked).count("transform.foreach_match") == 1
    assert DEFAULT_ENTRYPOINT not in linked.operation.attributes


def test_empty_specs_add_nothing(context, entry):
    empty, matmul = build_spec([], context), build_spec([entry("matmul")], context)
    assert names(link_specs([empty, matmul, empty])) == names(matmul)
    assert names(link_specs([empty, empty])) == []


def test_helpers_are_renamed_with_what_includes_them(context):
    linked = link_specs([with_helper(context, "linalg.fill"), with_helper(context, "linalg.matmul")])
    texts = [canonical(pair.matcher_op) for pair in pairs(linked) if pair.matcher_op is not None]
    assert "linalg.fill" in texts[0]
    assert "linalg.matmul" in texts[1]
    assert [pair.action for pair in pairs(linked)] == ["mark", "mark"]


def test_other_forms_are_chained(context, entry):
    linked = link_specs(
        [with_helper(context, "linalg.fill", chained=True), build_spec([entry("conv")], context)]
    )
    assert str(linked).count("transform.include @spec_") == 2
    assert str(linked).count(INSERT_BATCH) == 1
    assert list(sequences(linked)) == ["__kernel_config"]


def test_nothing_to_link():
    with pytest.raises(TunerError, match="no specs to link"):
        link_specs([])


def test_linked_chains_link_again(context, entry):
    chain = link_specs(
        [with_helper(context, "linalg.fill", chained=True), build_spec([entry("conv")], context)]
    )
    both = build_spec([entry("conv"), entry("matmul")], context)
    again = link_specs([chain, both])
    assert names(again) == [*names(chain), *names(both)]
    assert str(again).count(INSERT_BATCH) == 2


def test_linked_specs_apply(context, entry):
    """Merged, chained, and with a prologue: the same dispatch is hit."""
    conv, matmul = build_spec([entry("conv")], context), build_spec([entry("matmul")], context)
    program = (INPUTS / "conv.mlir").read_text()
    target = parse_target("llvm-cpu:host")
    with Workers() as workers:
        for other in (matmul, with_helper(context, "linalg.none", chained=True)):
            found = check_against_program(link_specs([other, conv]), program, target, workers=workers)
            assert [hits.count for hits in found.matchers] == ["none", "one"]
            assert [problem.kind for problem in found.problems] == ["hits_nothing"]
