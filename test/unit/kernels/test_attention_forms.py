"""Attention as people write it in JAX: each form is found as one problem, which computes the same.

The programs (`attentions`) are what JAX 0.10 lowers from einsums over batch, places, heads and width, in half
precision: `jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32)` and so on.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from after_abi import results_of_all
from amounts import ALL, some
from attentions_added import ADDED, given_to
from kernels.test_attention_sites import KERNEL, found, needs_triton, results
from problems import sites_in

from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.kernel import KernelError
from iree_tuner.ops.attention import is_attention
from iree_tuner.targets import parse_target

CUDA = parse_target("cuda:sm_89")
PROGRAMS = Path(__file__).parent / "attentions"


@dataclass(frozen=True)
class Form:
    """Sizes of a program's arrays, and what is found in it."""

    name: str
    batch: int
    queries: int
    keys: int
    shared: int
    found: tuple[int, ...]
    causal: bool = False
    bias: tuple[int, ...] = ()
    cap: float | None = None


FORMS = (
    Form("values_first", 2, 20, 24, 4, (2, 4)),
    Form("batch_of_one", 1, 20, 24, 4, (4,)),
    Form("scaled_queries", 2, 20, 24, 4, (2, 4)),
    Form("one_query_repeated", 1, 1, 24, 2, (2, 2)),
    Form("one_query_grouped", 1, 1, 24, 2, (2,)),
    Form("grouped", 2, 20, 24, 2, (2, 2, 2)),
    Form("grouped_causal", 2, 20, 20, 2, (2, 2, 2), causal=True),
    Form("bias_of_heads", 2, 20, 24, 4, (2, 4), bias=(1, 4, 20, 24)),
    Form("bias_of_keys", 2, 20, 24, 4, (2, 4), bias=(2, 1, 1, 24)),
    Form("masked_keys", 2, 20, 24, 4, (2, 4), bias=(2, 1, 1, 24)),
    Form("causal_triangle", 2, 20, 20, 4, (2, 4), causal=True),
    Form("capped", 2, 20, 24, 2, (2, 2, 2), cap=2.0),
    Form("capped_causal", 2, 20, 20, 2, (2, 2, 2), causal=True, cap=2.0),
    Form("capped_bias", 2, 20, 24, 4, (2, 4), bias=(1, 4, 20, 24), cap=2.0),
    Form("bias_causal", 2, 20, 20, 4, (2, 4), causal=True, bias=(1, 4, 20, 20)),
)


def site_of(name: str):
    return found((PROGRAMS / f"{name}.mlir").read_text())


def arrays(form: Form):
    rng = np.random.default_rng(0)
    sizes = [(form.queries, 4), *2 * [(form.keys, form.shared)]]
    made = [rng.standard_normal((form.batch, rows, heads, 16)).astype(np.float16) for rows, heads in sizes]
    if form.name == "masked_keys":
        return [*made, rng.random(form.bias) < 0.5]
    kind = np.float16 if len(form.bias) > 2 and form.bias[1] == 4 else np.float32
    return [*made, rng.standard_normal(form.bias).astype(kind)] if form.bias else made


def reference(form: Form, query, key, value, bias=0.0):
    """Of arrays of batch, places, heads, width; several heads of queries share one of keys."""
    if form.name == "masked_keys":
        bias = np.where(bias, 0.0, -np.inf)
    key, value = (np.repeat(each.astype(np.float64), 4 // form.shared, axis=2) for each in (key, value))
    scores = 0.25 * np.einsum("bmhd,bkhd->bhmk", query.astype(np.float64), key)
    scores = (scores if form.cap is None else form.cap * np.tanh(scores / form.cap)) + bias
    if form.causal:
        scores[..., np.arange(form.keys)[None] > np.arange(form.queries)[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhmk,bkhd->bmhd", weights / weights.sum(-1, keepdims=True), value)


def test_each_form_is_one_problem() -> None:
    """All are one program here, which is compiled once."""
    forms = FORMS if ALL else [*FORMS[3:11:3], *FORMS[12:]]
    problems, programs, read = [], [], []
    for form in forms:
        site = site_of(form.name)
        assert site is not None, form.name
        problem = site.problem
        assert problem.workload.sizes("batch") == form.found, form.name
        how = (problem.scale, problem.after, problem.cap)
        assert how == (0.25 / (form.cap or 1.0), 0 if form.causal else None, form.cap), form.name
        assert KERNEL.refuses(problem) == "", form.name
        given = arrays(form)
        assert [np.prod(each.shape) for each in problem.inputs] == [each.size for each in given], form.name
        problems.append(problem)
        programs.append(site.alone)
        read.append(given)
    shaped = [
        [value.reshape(each.shape) for value, each in zip(given, problem.inputs, strict=True)]
        for given, problem in zip(read, problems, strict=True)
    ]
    for form, given, (got,) in zip(forms, read, results_of_all(programs, shaped), strict=True):
        assert np.abs(got.reshape(-1) - reference(form, *given).reshape(-1)).max() < 2e-3, form.name


@pytest.mark.parametrize(("name", "batch"), [("rotary_pairs", (2, 4)), ("rotary_grouped", (2, 2, 2))])
def test_rotated_queries_and_keys_are_a_chain_each(name: str, batch: tuple[int, ...]) -> None:
    """Keys are turned for their product, and pairs of numbers are one dimension of an attention's array."""
    text = (PROGRAMS / f"{name}.mlir").read_text()
    places = find_here(text.encode(), "p.mlir", CUDA, chains=True, norms=True).places
    (attention,) = [each.sites[-1] for each in places if is_attention(each.sites[-1].problem.workload)]
    assert attention.problem.workload.sizes("batch") == batch
    assert attention.problem.workload.sizes("k1") == (16,)
    chains = [each for each in places if each.sites[0].problem.workload.op == "fused"]
    assert sum(not within for each in chains for within in each.within) == 2


def test_the_compilers_op_may_have_a_mask() -> None:
    q, k, mask = "tensor<4x20x16xf16>", "tensor<4x24x16xf16>", "tensor<20x24xf16>"
    maps = ("b, m, k1", "b, k2, k1", "b, k2, n", "", "m, k2", "b, m, n")
    every = ", ".join(f"affine_map<(b, m, n, k1, k2) -> ({each})>" for each in maps)
    text = f"""
    func.func @main(%q: {q}, %k: {k}, %v: {k}, %mask: {mask}) -> {q} {{
      %scale = arith.constant 0.25 : f32
      %empty = tensor.empty() : {q}
      %r = iree_linalg_ext.attention <indexing_maps = [{every}]>
          ins(%q, %k, %v, %scale, %mask : {q}, {k}, {k}, f32, {mask}) outs(%empty : {q}) {{
        ^bb0(%x: f32):
          iree_linalg_ext.yield %x : f32
      }} -> {q}
      return %r : {q}
    }}"""
    ((site,),) = sites_in(text)
    assert [str(each) for each in site.problem.inputs] == ["4x20x16xf16", *2 * ["4x24x16xf16"], "20x24xf16"]
    assert KERNEL.refuses(site.problem) == ""


def parts_of(name: str, read):
    """Queries, keys and values of a program whose arrays these are, by batch, places, heads and width."""
    (last, *_), more = read[::-1], (2, -1, 4, 16)
    if name == "fused_keys":
        return [read[0].reshape(more), *(each.reshape(more) for each in np.split(last, 2, axis=-1))]
    if name == "window":
        keys, values = np.split(last, 2, axis=-1)
        return [each.reshape(more) for each in (keys[:, 4:16], keys, values)]
    if name == "fused_heads":
        return np.split(last, 3, axis=-1)
    if name == "fused_grouped":
        query, *others = np.split(last, [64, 96], axis=-1)
        return [query.reshape(more), *(each.reshape(2, -1, 2, 16).repeat(2, axis=2) for each in others)]
    return [each.reshape(more) for each in np.split(last.reshape(2, 20, -1), 3, axis=-1)]


IN_PARTS = {
    "fused": ["2x20x192xf16"], "fused_heads": ["2x20x4x48xf16"], "fused_five": ["2x20x3x4x16xf16"],
    "fused_causal": ["2x20x192xf16"], "fused_grouped": ["2x20x128xf16"], "window": ["2x20x128xf16"],
    "fused_keys": ["2x20x4x16xf16", "2x24x128xf16"],
}  # fmt: skip
"""The arrays that attentions read whose operands are parts of them. The programs are in `attentions`."""


@pytest.mark.parametrize("name", some(list(IN_PARTS), 7))
def test_parts_of_arrays_are_read_in_place(name: str) -> None:
    """Nothing is copied: queries, keys and values that one product makes, or a window of places."""
    site = site_of(name)
    assert [str(each) for each in site.problem.inputs] == IN_PARTS[name]
    assert KERNEL.refuses(site.problem) == ""
    rng = np.random.default_rng(0)
    read = [rng.standard_normal(each.shape).astype(np.float16) for each in site.problem.inputs]
    query, key, value = parts_of(name, read)
    form = Form(name, 2, query.shape[1], key.shape[1], 4, (), causal=name == "fused_causal")
    wanted = reference(form, query, key, value)
    for program in (site.case, site.alone):
        assert np.abs(results(program, read) - wanted).max() < 4e-3
    if not KERNEL.missing():
        code = KERNEL.make(site.problem, CUDA, KERNEL.variants(site.problem, CUDA)[0])
        assert code.data.count(b".param .u64 .ptr .global") == len(read) + 1


@needs_triton
@pytest.mark.parametrize("name", ["bias_of_heads", "bias_of_keys", "masked_keys"])
def test_a_bias_is_the_fourth_binding(name: str) -> None:
    problem = site_of(name).problem
    code = KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0])
    assert code.data.count(b".param .u64 .ptr .global") == 5
    other = replace(problem, inputs=(*problem.inputs[:3], replace(problem.inputs[3], element_type="i8")))
    assert KERNEL.refuses(other) == "its bias is i8"


@pytest.mark.parametrize("name", ["one_query_repeated", "one_query_grouped"])
def test_queries_that_share_keys_are_rows_of_a_tile(name: str) -> None:
    problem = site_of(name).problem
    if KERNEL.missing():
        pytest.skip(KERNEL.missing())
    code = KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0])
    assert code.launch.workgroups == (1, 2, 1)


@needs_triton
def test_keys_are_split_within_a_cluster() -> None:
    """Where there are few workgroups, those of a cluster put their parts together through scratch memory."""
    problem = found((PROGRAMS / "one_query_grouped.mlir").read_text().replace("x24x", "x2048x")).problem
    variants = KERNEL.variants(problem, CUDA)
    assert {each["splits"] for each in variants} == {1, 2, 4, 8}
    assert variants[0]["splits"] == 8
    code = KERNEL.make(problem, CUDA, variants[0])
    assert code.launch.workgroups == (8, 2, 1)
    assert code.scratch_bytes == 2 * 8 * variants[0]["bm"] * (16 + 2) * 4
    text = code.data.decode()
    assert ".reqnctapercluster 8, 1, 1" in text
    before, after = text.split("barrier.cluster.arrive.release.aligned")
    assert "ld.global" in after
    assert before.count("st.global") >= 3


def test_causal_keys_are_not_split() -> None:
    causal = site_of("grouped_causal").problem
    assert {each["splits"] for each in KERNEL.variants(causal, CUDA)} == {1}


@needs_triton
def test_a_kernel_refuses_other_targets() -> None:
    problem = site_of("grouped").problem
    with pytest.raises(KernelError, match="does not compute"):
        KERNEL.make(problem, parse_target("llvm-cpu:host"), KERNEL.variants(problem, CUDA)[0])


def test_what_several_arrays_add_to_scores_is_no_array_of_its_own() -> None:
    """Distances times slopes, places in images, masks over biases, windows: nothing has as many values.

    By default each fourth one is computed, all as one program: they differ in how they are found.
    """
    sites = {name: site_of(name) for name in ADDED}
    for name, site in sites.items():
        problem = site.problem
        assert len(problem.inputs) == 3 + ADDED[name], name
        assert KERNEL.refuses(problem) == "", name
        assert CAttention().refuses(problem), name
        other = replace(problem.inputs[-1], element_type="i8")
        refused = KERNEL.refuses(replace(problem, inputs=(*problem.inputs[:-1], other)))
        assert refused.startswith("it adds "), name
        assert "i8" in refused, name
    computed = some(ADDED, 4)
    programs = [program for name in computed for program in (sites[name].case, sites[name].alone)]
    read = [given_to(sites[name]) for name in computed for _ in range(2)]
    made = results_of_all(programs, read)
    for name, (wanted,), (got,) in zip(computed, made[::2], made[1::2], strict=True):
        assert np.abs(got - wanted.astype(np.float64)).max() < 4e-3, name


@needs_triton
@pytest.mark.parametrize("name", ADDED)
def test_each_array_that_is_added_is_a_binding(name: str) -> None:
    problem = site_of(name).problem
    for knobs in KERNEL.variants(problem, CUDA)[:2]:
        code = KERNEL.make(problem, CUDA, knobs)
        assert code.data.count(b".param .u64 .ptr .global") == len(problem.inputs) + 1
