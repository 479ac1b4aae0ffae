"""Attention in C computes what numpy computes, with any knobs and vectors, for sizes that nothing divides."""

import math

import numpy as np
import pytest
from amounts import some
from c_objects import arrays, examples, run
from hypothesis import example, given
from hypothesis import strategies as st
from kernels.test_attention_forms import IN_PARTS, PROGRAMS, Form, parts_of
from kernels.test_attention_forms import reference as form_reference
from kernels.test_attention_sites import found, reference
from kernels.test_causal_attention import reference as causal_reference
from problems import matmul, site_in, sites_in
from programs import attention, causal_attention

from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.c_code import lanes
from iree_tuner.targets import parse_target

KERNEL = CAttention()
HOST = parse_target("llvm-cpu:host")

pytestmark = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())
WIDTHS = sorted({width for width in (8, 16) if width <= lanes()} or {lanes()})
FEW = examples(48)
FIRST, INSIDE = "heads first", "heads inside"


def op(heads, queries, keys, depth, values, order=FIRST, *, transposed=False, result="", changed=False):
    """A function of one attention, scaled by 0.25.

    `transposed` has the keys' numbers first, `result` another order; `changed` scores are doubled.
    """
    sizes = {"b": heads, "m": queries, "n": values, "k1": depth, "k2": keys}
    maps = ["b, m, k1", "b, k2, k1", "b, k2, n", result or "b, m, n"]
    if order == INSIDE:
        maps = [", ".join((one, two, last)) for two, one, last in (each.split(", ") for each in maps)]
    if transposed:
        maps[1] = ", ".join(("k1", *maps[1].split(", ")[:2]))
    shapes = ["x".join(str(sizes[loop]) for loop in each.split(", ")) for each in maps]
    q, k, v, r = (f"tensor<{each}xf32>" for each in shapes)
    maps.insert(3, "")
    every = ", ".join(f"affine_map<(b, m, n, k1, k2) -> ({each})>" for each in maps)
    body = "%y = arith.addf %x, %x : f32" if changed else ""
    return f"""
    func.func @main(%q: {q}, %k: {k}, %v: {v}) -> {r} {{
      %scale = arith.constant 0.25 : f32
      %empty = tensor.empty() : {r}
      %r = iree_linalg_ext.attention <indexing_maps = [{every}]>
          ins(%q, %k, %v, %scale : {q}, {k}, {v}, f32) outs(%empty : {r}) {{
        ^bb0(%x: f32):
          {body}
          iree_linalg_ext.yield {"%y" if changed else "%x"} : f32
      }} -> {r}
      return %r : {r}
    }}"""


def computed(problem, pick, folder, **wanted):
    """What one of the variants computes that have some knobs, or of all where none has; and its inputs."""
    variants = KERNEL.variants(problem, HOST)
    fit = [each for each in variants if wanted.items() <= each.items()] or variants
    inputs = arrays(problem)
    code = KERNEL.make(problem, HOST, fit[int(pick * len(fit))])
    return run(code, inputs, problem.result.shape, folder), inputs


@FEW
@given(
    heads=st.integers(1, 3), queries=st.integers(1, 40), keys=st.integers(1, 300), depth=st.integers(1, 70),
    values=st.integers(1, 70), order=st.sampled_from([FIRST, INSIDE]), transposed=st.booleans(),
    width=st.sampled_from(WIDTHS), packs=st.integers(0, 1), dot=st.integers(0, 1), pick=st.floats(0, 0.999),
)  # fmt: skip
@example(
    heads=2, queries=13, keys=270, depth=33, values=37, order=INSIDE, transposed=False,
    width=WIDTHS[-1], packs=0, dot=0, pick=0,
)  # fmt: skip
@example(
    heads=2, queries=1, keys=270, depth=37, values=33, order=FIRST, transposed=False,
    width=WIDTHS[-1], packs=1, dot=1, pick=0,
)  # fmt: skip
def test_ops(heads, queries, keys, depth, values, order, transposed, width, packs, dot, pick, tmp_path):
    problem = site_in(op(heads, queries, keys, depth, values, order, transposed=transposed)).problem
    assert KERNEL.refuses(problem) == ""
    got, (q, k, v) = computed(problem, pick, tmp_path, lanes=width, pack_values=packs, dot=dot)
    k = np.moveaxis(k, 0, -1) if transposed else k
    if order == FIRST:
        q, k, v, got = (np.moveaxis(each, 0, 1) for each in (q, k, v, got))
    want = reference(q[None], k[None], v[None], 0.25)[0]
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("pick", some([0.0, 0.7], 2))
def test_as_jax_exports_it(pick, tmp_path):
    """Heads inside, a batch of two loops, keys that several heads share, and a mask of later ones."""
    problem = found(attention(2, 20, 3, 16, 77).replace("f16", "f32")).problem
    got, inputs = computed(problem, pick, tmp_path)
    np.testing.assert_allclose(got, reference(*inputs, 0.25), rtol=2e-5, atol=2e-6)
    for after in some((3, 0), 2):
        text = causal_attention(4, 2, 75, 16).replace("f16", "f32")
        text = text.replace(
            "%apart = stablehlo.constant dense<0>", f"%apart = stablehlo.constant dense<{after}>"
        )
        problem = found(text).problem
        assert problem.after == after
        got, inputs = computed(problem, pick, tmp_path, keys=64)
        np.testing.assert_allclose(got, causal_reference(*inputs, after), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", some(IN_PARTS, 4))
def test_parts_of_arrays_are_read_in_place(name, tmp_path):
    problem = found((PROGRAMS / f"{name}.mlir").read_text().replace("f16", "f32")).problem
    got, read = computed(problem, 0.3, tmp_path)
    query, key, value = parts_of(name, read)
    form = Form(name, 2, query.shape[1], key.shape[1], 4, (), causal=name == "fused_causal")
    np.testing.assert_allclose(got, form_reference(form, query, key, value), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", some(["capped_causal", "capped"], 2))
def test_soft_caps(name, tmp_path):
    problem = found((PROGRAMS / f"{name}.mlir").read_text().replace("f16", "f32")).problem
    assert KERNEL.refuses(problem) == ""
    keys = problem.inputs[1].shape[1]
    form = Form(name, 2, 20, keys, 2, (), causal=problem.after is not None, cap=problem.cap)
    got, read = computed(problem, 0.3, tmp_path)
    shaped = zip(read, (4, 2, 2), strict=True)
    wanted = form_reference(form, *(each.reshape(2, -1, heads, 16) for each, heads in shaped))
    np.testing.assert_allclose(got.reshape(wanted.shape), wanted, rtol=2e-5, atol=2e-6)


def test_scores_that_are_large_or_no_numbers(tmp_path):
    """Weights that are too small are 0; a NaN is in the row of its query alone."""
    problem = site_in(op(1, 9, 140, 8, 8)).problem
    inputs = [each * 40 for each in arrays(problem)]
    inputs[0][0, 3, 2] = math.nan
    variants = KERNEL.variants(problem, HOST)
    got = run(KERNEL.make(problem, HOST, variants[0]), inputs, problem.result.shape, tmp_path)[0]
    q, k, v = (each[0][None, :, None] for each in inputs)
    want = reference(q, k, v, 0.25)[0, :, 0]
    assert np.isnan(got[3]).all()
    rest = [each for each in range(9) if each != 3]
    np.testing.assert_allclose(got[rest], want[rest], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matmul(16, 16, 16), "it is not attention"),
        (op(1, 8, 8, 2000, 8, transposed=True), "its heads are too wide: 2000 and 8"),
        (op(1, 8, 8, 8, 8).replace("f32", "f64"), "its types are f64, f64, f64, f64, not f32 or bf16"),
        (op(1, 8, 8, 8, 8, result="n, b, m"), "the values of its result are not contiguous"),
    ],
)
def test_refused(text, why):
    assert why in KERNEL.refuses(site_in(text).problem)


def test_changed_scores_are_another_function():
    assert not sites_in(op(1, 8, 8, 8, 8, changed=True))
