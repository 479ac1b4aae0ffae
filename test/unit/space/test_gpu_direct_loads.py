"""Direct loads into shared memory: where there is such a knob, and that what uses it compiles."""

from dataclasses import replace

import pytest
from amounts import amount
from light_members import light

from iree_tuner.compiler.context import new_context
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.emitted import emit
from iree_tuner.targets import parse_target

KNOB = "direct_loads"


def product_of(m, n, k, kind, *, transposed):
    right, map_of_right = ((n, k), "(n, k)") if transposed else ((k, n), "(k, n)")
    types = f"tensor<{m}x{k}x{kind}>", f"tensor<{right[0]}x{right[1]}x{kind}>", f"tensor<{m}x{n}xf32>"
    return f"""
func.func @product(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {types[2]}
  %filled = linalg.fill ins(%zero : f32) outs(%empty : {types[2]}) -> {types[2]}
  %product = linalg.generic {{
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> {map_of_right}>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {types[0]}, {types[1]}) outs(%filled : {types[2]}) {{
    ^bb0(%x: {kind}, %y: {kind}, %sum: f32):
      %p = arith.extf %x : {kind} to f32
      %q = arith.extf %y : {kind} to f32
      %r = arith.mulf %p, %q : f32
      %s = arith.addf %sum, %r : f32
      linalg.yield %s : f32
  }} -> {types[2]}
  return %product : {types[2]}
}}
"""


def tile_and_fuse(text, target, compilers):
    (dispatch,) = extract(load_program(text), parse_target(target), compilers).dispatches
    emitted = emit(dispatch.harness, dispatch.workload, parse_target(target), compilers)
    spaces = build_spaces(dispatch.workload, dispatch.limits, new_context(), emitted.modules)
    (space,) = [each for each in spaces if each.label == "TileAndFuse"]
    return dispatch, space


@pytest.mark.parametrize(
    ("text", "target", "choices"),
    [
        (product_of(2048, 2048, 1024, "f16", transposed=True), "hip:gfx950", (0, 1, 2)),
        pytest.param(
            product_of(2048, 2048, 1024, "bf16", transposed=False),
            "hip:gfx950",
            (0, 1, 2),
            marks=pytest.mark.exhaustive,
        ),
        (product_of(2048, 2048, 1024, "f16", transposed=True), "hip:gfx942", None),
        (product_of(2048, 2048, 1024, "f16", transposed=True), "cuda:sm_90", None),
    ],
    ids=["f16", "bf16", "gfx942", "cuda"],
)
def test_there_is_a_knob_where_the_target_has_such_loads(text, target, choices, compilers):
    _, space = tile_and_fuse(text, target, compilers)
    assert next((knob.values for knob in space.knobs if knob.name == KNOB), None) == choices


def test_what_a_swizzle_and_padded_rows_need_is_asked_for(compilers):
    _, space = tile_and_fuse(product_of(2048, 2048, 1024, "f16", transposed=True), "hip:gfx950", compilers)
    direct = next(each for each in space.sample(200, 0) if each[KNOB] == 1)
    other = dict(direct, no_reduce_shared_memory_bank_conflicts=0)
    assert space.violations(other) == ["direct_loads (1) writes rows that are not padded"]


@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (1000, 650, 1280)], ids=str)
def test_members_with_direct_loads_compile(sizes, compilers):
    """To code of their own, where tiles divide; a copy that no such load fits passes registers after all."""
    dispatch, space = tile_and_fuse(product_of(*sizes, "f16", transposed=True), "hip:gfx950", compilers)
    builder = Builder(parse_target("hip:gfx950"), compilers)
    members = space.sample(400, 1)
    direct = [each for each in light(members) if each[KNOB]][: amount(1, 60)]
    assert {each[KNOB] for each in members} == {0, 1, 2}
    builds = list(builder.build_all(dispatch.harness, [space.configuration(each) for each in direct]))
    assert [each.message for each in builds if each.outcome != "ok"] == []
    for member, built in zip(direct, builds, strict=True) if sizes[0] == 4096 else ():
        plain = dict(member) | {KNOB: 0}
        assert builder.build(dispatch.harness, space.configuration(plain)).digest != built.digest


def test_the_compilers_own_choice_is_in(compilers):
    dispatch, space = tile_and_fuse(
        product_of(4096, 4096, 4096, "f16", transposed=True), "hip:gfx950", compilers
    )
    found = find_default(space, Written.by_compiler(dispatch))
    assert not found.reasons
    assert found.assignment[KNOB] > 0


PADDING = "padding = "


@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (1024, 512, 1040)], ids=str)
def test_padding_to_tiles_that_divide_changes_nothing(sizes, compilers):
    """So that the compiler's choice may have it, or not, whatever a space has."""
    text = product_of(*sizes, "f16", transposed=False)
    dispatch, space = tile_and_fuse(text, "hip:gfx942" if sizes[2] == 4096 else "hip:gfx950", compilers)
    builder = Builder(parse_target("hip:gfx942" if sizes[2] == 4096 else "hip:gfx950"), compilers)
    seen = 0
    for member in light(space.sample(300, 2)):
        configuration = space.configuration(member)
        value = configuration.ops[0].value
        tiles = [member["wg_0"], member["wg_1"], member.get("pad_k", 0)]
        if PADDING not in value or any(size % tile for size, tile in zip(sizes, tiles, strict=True)):
            continue
        without = value.replace(f"{PADDING}{tiles}, ", "")
        assert without != value
        other = replace(configuration, ops=(replace(configuration.ops[0], value=without),))
        first, second = builder.build_all(dispatch.harness, [configuration, other])
        assert first.outcome == second.outcome == "ok"
        assert first.digest == second.digest
        seen += 1
        if seen == amount(1, 10):
            break
    assert seen or PADDING not in space.configuration(member).ops[0].value
