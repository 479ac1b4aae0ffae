"""Specs of forms that others write, linked, embedded and read: as the compiler takes them from a file."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context, symbol_of
from iree_tuner.errors import TunerError
from iree_tuner.program.carried import IN_MEMORY
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_spec
from iree_tuner.spec.explain import explain
from iree_tuner.spec.grammar import (
    DEFAULT_ENTRYPOINT,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    entry_sequences,
    pairs,
    reached,
    runs_by_name,
    sequences,
)
from iree_tuner.spec.io import embed, from_attribute, load_spec
from iree_tuner.spec.link import link_specs

INSERT_BATCH = "iree-codegen-insert-batch-dim-for-batchless-conv"
OP = "!transform.any_op"
MATCH = f"transform.foreach_match in %f @match -> @mark : ({OP}) -> {OP}"
READ, CONSUMED = " {transform.readonly}", " {transform.consumed}"


def pair(op: str = "linalg.matmul", mark: str = "mark") -> str:
    """A matcher of one kind of op, and an action that marks it."""
    return f"""
      transform.named_sequence @match(%op: {OP}{READ}) -> {OP} {{
        transform.match.operation_name %op ["{op}"] : {OP}
        transform.yield %op : {OP}
      }}
      transform.named_sequence @mark(%op: {OP}{READ}) {{
        transform.annotate %op "{mark}" : {OP}
        transform.yield
      }}"""


def entry_point(
    body: str, *, name: str = ENTRYPOINT_NAME, argument: str = CONSUMED, said: bool = True
) -> str:
    """An entry point that ends with what `%done` is."""
    attribute = f" attributes {{{ENTRYPOINT}}}" if said else ""
    return f"""
      transform.named_sequence @{name}(%f: {OP}{argument}) -> {OP}{attribute} {{
        {body}
        transform.yield %done : {OP}
      }}"""


def printing(name: str, argument: str = READ) -> str:
    """An entry point without a matcher, which returns what it got."""
    text = entry_point(f'transform.print %f name = "{name}" : {OP}', name=name, argument=argument)
    return text.replace("yield %done", "yield %f")


def module(*parts: str, name: str = "spec", default: bool = False) -> str:
    attribute = f", {DEFAULT_ENTRYPOINT}" if default else ""
    return f"module @{name} attributes {{transform.with_named_sequence{attribute}}} {{{''.join(parts)}\n}}\n"


def spec(context: ir.Context, *parts: str, default: bool = False) -> ir.Module:
    return load_spec(module(*parts, default=default), context)


def included(linked: ir.Module) -> list[str]:
    """Where the includes of a chain lead, in order."""
    (entry,) = entry_sequences(linked)
    ops = [view.operation for view in entry.regions[0].blocks[0]]
    return [str(op.attributes["target"]) for op in ops if op.name == "transform.include"]


def embedded(found: ir.Module) -> ir.Module:
    program = ir.Module.parse("module {}", new_context())
    embed(program, found)
    return load_spec(from_attribute(program.operation.attributes[IN_MEMORY]), new_context())


def test_all_entry_points_of_one_spec_are_embedded(context):
    both = spec(context, printing("first"), printing(ENTRYPOINT_NAME), printing("last"))
    linked = embedded(both)
    assert runs_by_name(linked)
    assert included(linked) == [
        "@spec_0::@first",
        f"@spec_0::@{ENTRYPOINT_NAME}_1",
        "@spec_0::@last",
    ]


def test_a_helper_may_have_the_name_of_the_entry_point(context):
    """In a file the attribute says what runs, in memory the name."""
    helper = entry_point(f"%done = {MATCH}", said=False)
    linked = embedded(spec(context, pair(), helper, entry_point(f"%done = {MATCH}", name="main")))
    assert runs_by_name(linked)
    assert ENTRYPOINT in sequences(linked)[ENTRYPOINT_NAME].attributes
    assert f"{ENTRYPOINT_NAME}_0" in sequences(linked)


@pytest.mark.parametrize("returns", [True, False])
def test_an_entry_point_without_the_attribute_is_linked(context, entry, returns):
    """As in specs for --iree-codegen-transform-dialect-library, which may return nothing."""
    text = entry_point(f"%done = {MATCH}", said=False)
    if not returns:
        text = text.replace(f" -> {OP} {{", " {").replace(f"yield %done : {OP}", "yield")
    linked = link_specs([spec(context, pair(), text), build_spec([entry("matmul")], context)])
    assert DEFAULT_ENTRYPOINT in linked.operation.attributes
    assert len(pairs(linked)) == 2


def test_one_that_cannot_return_its_function_is_told(context):
    text = printing(ENTRYPOINT_NAME).replace(f" attributes {{{ENTRYPOINT}}}", "")
    text = text.replace(f" -> {OP} {{", " {").replace(f"yield %f : {OP}", "yield")
    found = load_spec(module(text), context)
    with pytest.raises(TunerError, match=r"a.mlir: @__kernel_config must return the function that it takes"):
        link_specs([found], labels=["a.mlir"])


def test_arguments_of_a_chain_must_agree(context):
    reads, consumes = printing("reads"), printing("consumes", CONSUMED)
    specs = [spec(context, reads), spec(context, consumes)]
    with pytest.raises(
        TunerError, match=r"of a.mlir: only reads its argument, and @\w+ of b.mlir consumes it: mark both"
    ):
        link_specs(specs, labels=["a.mlir", "b.mlir"])
    assert [problem.kind for problem in check_spec(spec(context, reads, consumes))] == ["argument"]
    neither = spec(context, printing("main", ""))
    assert [str(problem) for problem in check_spec(neither)] == [
        "@main: its argument is neither transform.readonly nor transform.consumed: "
        "the compiler cannot include it"
    ]
    with pytest.raises(TunerError, match=r"cannot link: .* of b.mlir: its argument is neither"):
        link_specs([spec(context, reads), neither], labels=["a.mlir", "b.mlir"])


def test_a_default_spec_says_nothing_of_its_argument(context):
    text = entry_point(f"%done = {MATCH}", argument="")
    assert "argument" not in [
        problem.kind for problem in check_spec(spec(context, pair(), text, default=True))
    ]


@pytest.mark.parametrize(
    "body",
    [
        f"%done, %other = transform.foreach_match in %f @match -> @mark : ({OP}) -> ({OP}, {OP})",
        f"%done = transform.foreach_match in %f, %f @match -> @mark : ({OP}, {OP}) -> {OP}",
        f"%done = transform.foreach_match restrict_root in %f @match -> @mark : ({OP}) -> {OP}",
        f"%done = transform.foreach_match flatten_results in %f @match -> @mark : ({OP}) -> {OP}",
    ],
    ids=["results", "arguments", "restrict_root", "flatten_results"],
)
def test_a_foreach_match_that_no_default_spec_has_is_chained(context, entry, body):
    """Which is what the verifier of default specs refuses."""
    parts = pair()
    if "%other" in body:
        parts = parts.replace(
            "%op: !transform.any_op {transform.readonly}) {", f"%op: {OP}{READ}) -> {OP} {{"
        )
        parts = parts.replace("transform.yield\n", f"transform.yield %op : {OP}\n")
    if "%f, %f" in body:
        parts = parts.replace(f"@match(%op: {OP}{READ})", f"@match(%op: {OP}{READ}, %more: {OP}{READ})")
    other = spec(context, parts, entry_point(body))
    linked = link_specs([other, build_spec([entry("matmul")], context)])
    assert DEFAULT_ENTRYPOINT not in linked.operation.attributes
    assert len(included(linked)) == 2
    with pytest.raises(TunerError, match=r"required by 'iree_codegen.tuning_spec_with_default_entrypoint'"):
        spec(context, parts, entry_point(body), default=True)


def test_functions_of_one_name_keep_specs_apart(context):
    """The compiler has no way to rename them. A prologue stays where it was."""
    prepared = f'%g = transform.apply_registered_pass "{INSERT_BATCH}" to %f : ({OP}) -> {OP}\n'
    body = prepared + f"%done = {MATCH}".replace("%f", "%g")
    function = "\nfunc.func private @helper()"
    first = spec(context, function, pair(), entry_point(body))
    second = spec(context, function, pair("linalg.fill"), entry_point(f"%done = {MATCH}"), default=True)
    chain = link_specs([first, second])
    assert len(included(chain)) == 2
    assert str(chain).count(INSERT_BATCH) == 1
    merged = link_specs([first, spec(context, pair("linalg.fill"), entry_point(f"%done = {MATCH}"))])
    assert len(pairs(merged)) == 2
    assert included(merged) == []


def test_a_chain_drops_nothing(context):
    """In a chain all specs run: that an earlier one has the same pair does not make it idle."""
    own = entry_point(f'%done = {MATCH}\ntransform.print %done name = "after" : {OP}')
    first, second = spec(context, pair(), own), spec(context, pair(), own)
    linked = link_specs([first, second])
    assert len(pairs(linked)) == 2
    assert str(linked).count('"after"') == 2


def test_one_after_the_other_is_no_repetition(context):
    """Two `foreach_match` of one spec both run, so that neither pair is idle, nor a conflict."""
    again = pair(mark="again").replace("@match", "@match_again").replace("@mark", "@mark_again")
    body = f"%g = {MATCH}\n%done = {MATCH}".replace(
        "%done = transform.foreach_match in %f @match -> @mark",
        "%done = transform.foreach_match in %g @match_again -> @mark_again",
    )
    found = spec(context, pair(), again, entry_point(body))
    assert not {"conflict", "repeated"} & {problem.kind for problem in check_spec(found)}
    assert len(pairs(link_specs([found, found]))) == 4


def test_specs_in_one_module_are_linked(context):
    text = module(
        module(pair(), entry_point(f"%done = {MATCH}", name="a"), name="first"),
        module(pair(mark="other"), entry_point(f"%done = {MATCH}", name="b"), name="second"),
    )
    with pytest.raises(TunerError, match=r"not a tuning spec: .*iree-tuner spec link makes one spec of them"):
        load_spec(text, context)
    nested = load_spec(text, context, nested=True)
    with pytest.raises(
        TunerError, match=r"@match of @first of all.mlir and @match of @second of all.mlir match the same op"
    ):
        link_specs([nested], labels=["all.mlir"])
    alike = load_spec(text.replace('"other"', '"mark"'), context, nested=True)
    assert [found.matcher for found in pairs(link_specs([alike]))] == ["match"]


def test_what_a_module_inside_holds_runs_if_it_is_included(context):
    inside = module(pair(), entry_point(f"%done = {MATCH}", name="inner"), name="lib")
    call = f"%done = transform.include @lib::@inner failures(suppress) (%f) : ({OP}) -> {OP}"
    calls = spec(context, inside, entry_point(call))
    assert [symbol_of(op) for op in reached(calls)] == [ENTRYPOINT_NAME, "inner", "match", "mark"]
    assert len(pairs(calls)) == 1
    ignores = spec(context, inside, pair("linalg.fill"), entry_point(f"%done = {MATCH}"))
    assert [row.op for row in explain(ignores)] == ["linalg.fill"]
    assert ("not_run", "inner") in [(problem.kind, problem.where) for problem in check_spec(ignores)]
    assert len(pairs(link_specs([ignores, calls]))) == 2


@pytest.mark.parametrize("name", ["match", "mark", ENTRYPOINT_NAME])
def test_a_sequence_that_is_only_declared_is_refused(context, name):
    """The compiler resolves it when it runs the spec, and fails."""
    declared = {
        "match": f"\ntransform.named_sequence private @match({OP}{READ}) -> {OP}",
        "mark": f"\ntransform.named_sequence private @mark({OP}{READ})",
        ENTRYPOINT_NAME: (
            f"\ntransform.named_sequence private @{ENTRYPOINT_NAME}({OP}{READ}) -> {OP} "
            f"attributes {{{ENTRYPOINT}}}"
        ),
    }
    whole = {text.split("(")[0].split("@")[1]: text for text in pair().split("transform.named_sequence")[1:]}
    parts = {part: f"\ntransform.named_sequence{text}" for part, text in whole.items()}
    parts[ENTRYPOINT_NAME] = entry_point(f"%done = {MATCH}")
    with pytest.raises(TunerError, match=f"here.mlir: @{name} has no body, but the compiler requires one"):
        load_spec(module(*(parts | {name: declared[name]}).values()), context, name="here.mlir")


def test_what_a_spec_sets_itself_is_explained(context):
    names = '["linalg.matmul", "linalg.generic"]'
    body = f"""%found = transform.structured.match ops{{{names}}} in %f : ({OP}) -> {OP}
        %value = transform.param.constant 7 : i64 -> !transform.any_param
        transform.annotate %found "root_op" = %value : {OP}, !transform.any_param"""
    text = entry_point(body, argument=READ, name="own").replace("yield %done", "yield %f")
    (row,) = explain(spec(context, text))
    assert (row.matcher, row.op) == ("own", "linalg.matmul, linalg.generic")
    assert [(setting.attribute, setting.value) for setting in row.settings] == [("root_op", "7 : i64")]
