"""Attention to the keys of a cache and to later ones: kernels do not need the copy in which both are joined.

The programs (`attentions/later_*.mlir`) are what JAX lowers from `jnp.concatenate([cache, new], axis)` before
an einsum; caches have heads or places first.
"""

import numpy as np
import pytest
from amounts import some
from c_objects import run
from kernels.after_abi import HOST, results_of_all, session
from kernels.test_attention_forms import PROGRAMS
from kernels.test_attention_sites import KERNEL, found, needs_triton
from problems import sites_in

from iree_tuner.compiler.context import walk
from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.find import dispatches_of, find_here
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.kernel import Code, Launch
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.spec import put_into
from iree_tuner.program.phases import select_target
from iree_tuner.targets import parse_target

CUDA = parse_target("cuda:sm_90")
C_KERNEL = CAttention()
EARLIER = {"later_row": 23, "later_places": 33, "later_bias": 40, "later_fused": 40}


def site_of(name: str) -> Site:
    site = found((PROGRAMS / f"{name}.mlir").read_text())
    assert site is not None
    return site


def arrays_of(site: Site, kind=np.float16):
    rng = np.random.default_rng(0)
    kinds = [kind if each.element_type == "f16" else np.float32 for each in site.problem.inputs]
    pairs = zip(site.problem.inputs, kinds, strict=True)
    return [rng.standard_normal(each.shape).astype(own) for each, own in pairs]


def wanted(name: str, read):
    """Of queries by batch, places, 4 heads and width 16."""
    read = [each.astype(np.float64) for each in read]
    if name == "later_fused":
        query, *late = np.split(read[0], [64, 96], axis=-1)
        query, late, early = (
            query.reshape(2, -1, 4, 16),
            [each.reshape(2, -1, 2, 16) for each in late],
            read[1:],
        )
    else:
        query, *early = read[:3]
        late, query = read[3:5], query.reshape(-1, query.shape[-3] if query.ndim > 3 else 1, 4, 16)
    if name == "later_row":
        early, late = ([each.swapaxes(1, 2) for each in own] for own in (early, late))
    keys, values = (np.concatenate(own, axis=1) for own in zip(early, late, strict=True))
    keys, values = (each.repeat(4 // each.shape[2], axis=2) for each in (keys, values))
    scores = 0.25 * np.einsum("bmhd,bkhd->bhmk", query, keys)
    if name == "later_bias":
        scores += read[5]
    if name == "later_places":
        last = np.arange(query.shape[1]) + EARLIER[name]
        scores[:, :, np.arange(keys.shape[1])[None] > last[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhmk,bkhd->bmhd", weights / weights.sum(-1, keepdims=True), values)


def test_keys_are_read_where_they_are() -> None:
    """By the program's ops, which a spec matches, and by the one dispatch that a kernel is compared with."""
    sites = {name: site_of(name) for name in EARLIER}
    for name, site in sites.items():
        later = site.problem.later
        assert later is not None
        assert later.earlier == EARLIER[name]
        assert len(site.problem.inputs) == {"later_fused": 3, "later_bias": 6}.get(name, 5)
        assert KERNEL.refuses(site.problem) == ""
    read = {name: arrays_of(site) for name, site in sites.items()}
    names = [*sites, *some(sites, 4)]
    programs = [sites[name].case if at >= len(sites) else sites[name].one_op for at, name in enumerate(names)]
    given = [read[name] for name in names]
    for name, (got,) in zip(names, results_of_all(programs, given), strict=True):
        assert np.abs(got.reshape(-1) - wanted(name, read[name]).reshape(-1)).max() < 4e-3, name
    with session().context:
        assert dispatches_of([site.one_op for site in sites.values()], session(), HOST) == [1] * len(sites)


@pytest.mark.skipif(bool(C_KERNEL.missing()), reason=C_KERNEL.missing())
@pytest.mark.parametrize("name", some(["later_places", "later_row", "later_fused"], 3))
def test_in_c(name: str, tmp_path) -> None:
    """Packed and in place, with products and with dots."""
    site = found((PROGRAMS / f"{name}.mlir").read_text().replace("f16", "f32"))
    problem, read = site.problem, arrays_of(site)
    read = [each.astype(np.float32) for each in read]
    variants = C_KERNEL.variants(problem, HOST)
    seen = {(each["dot"], each["pack_values"]): each for each in reversed(variants)}
    assert len(seen) == 4
    for number, knobs in enumerate(some(list(seen.values()), 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        got = run(C_KERNEL.make(problem, HOST, knobs), read, problem.result.shape, folder)
        want = wanted(name, read).reshape(got.shape)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6, err_msg=str(knobs))


@needs_triton
@pytest.mark.parametrize("name", EARLIER)
def test_by_triton(name: str) -> None:
    """Each input has a binding, and splits write partial results."""
    problem = site_of(name).problem
    for splits in {each["splits"]: each for each in KERNEL.variants(problem, CUDA)}.values():
        code = KERNEL.make(problem, CUDA, splits)
        bindings = len(problem.inputs) + 1 + (splits["splits"] > 1)
        assert code.data.count(b".param .u64 .ptr .global") == bindings


@needs_triton
def test_long_caches_fit_into_shared_memory() -> None:
    text = (PROGRAMS / "later_row.mlir").read_text()
    for before, after in (("x23x", "x2047x"), ("x24x", "x2048x"), ("x24>", "x2048>"), ("x16x", "x128x")):
        text = text.replace(before, after)
    problem = found(text.replace("[24]", "[2048]").replace("16xf", "128xf")).problem
    assert KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0]).launch.shared_bytes > 1 << 14


def test_what_the_program_returns_joined_is_not_taken_apart() -> None:
    problem = site_of("later_kept").problem
    assert problem.later is None
    assert [str(each) for each in problem.inputs] == ["2x3x4x16xf16", *2 * ["2x43x2x16xf16"]]


def around_an_op() -> str:
    new, turned, cache, whole = (f"tensor<1x{each}x16xf16>" for each in ("5x4", "4x5", "4x30", "4x35"))
    return f"""
func.func @main(%q: {new}, %kc: {cache}, %vc: {cache},
                %k: {new}, %v: {new}) -> {new} {{
  %e = tensor.empty() : {turned}
  %q1 = linalg.transpose ins(%q : {new}) outs(%e : {turned}) permutation = [0, 2, 1, 3]
  %k1 = linalg.transpose ins(%k : {new}) outs(%e : {turned}) permutation = [0, 2, 1, 3]
  %v1 = linalg.transpose ins(%v : {new}) outs(%e : {turned}) permutation = [0, 2, 1, 3]
  %keys = tensor.concat dim(2) %kc, %k1
      : ({cache}, {turned}) -> {whole}
  %values = tensor.concat dim(2) %vc, %v1
      : ({cache}, {turned}) -> {whole}
  %scale = arith.constant 0.25 : f32
  %r = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(a, b, m, n, k1, k2) -> (a, b, m, k1)>, affine_map<(a, b, m, n, k1, k2) -> (a, b, k2, k1)>,
      affine_map<(a, b, m, n, k1, k2) -> (a, b, k2, n)>, affine_map<(a, b, m, n, k1, k2) -> ()>,
      affine_map<(a, b, m, n, k1, k2) -> (a, b, m, n)>]>
      ins(%q1, %keys, %values, %scale
          : {turned}, {whole}, {whole}, f32)
      outs(%e : {turned}) {{
    ^bb0(%x: f32):
      iree_linalg_ext.yield %x : f32
  }} -> {turned}
  %o = tensor.empty() : {new}
  %t = linalg.transpose ins(%r : {turned}) outs(%o : {new}) permutation = [0, 2, 1, 3]
  return %t : {new}
}}
"""


def test_around_the_compilers_op() -> None:
    """As it comes from PyTorch: no transpose and no concatenation is left."""
    ((site,),) = sites_in(around_an_op())
    assert site.problem.later is not None
    assert [str(each) for each in site.problem.inputs] == [
        "1x5x4x16xf16", *2 * ["1x4x30x16xf16"], *2 * ["1x5x4x16xf16"],
    ]  # fmt: skip
    read = arrays_of(site)
    early = [each.swapaxes(1, 2) for each in read[1:3]]
    want = wanted("", [read[0], *early, *read[3:]])
    for (got,) in results_of_all([site.case, site.one_op], [read, read]):
        assert np.abs(got - want).max() < 4e-3


def test_in_a_program_nothing_is_joined() -> None:
    """The copies of caches go with the ops that the attention is made of."""
    text = (PROGRAMS / "later_row.mlir").read_text()
    site = site_of("later_row")
    own = session()
    with own.context:
        module = own.parse(text)
        select_target(module, HOST)
        own.run(module, stop="abi")
        put_into(module, [(site, Code("ops", "one", site.one_op, Launch((1, 1, 1))))])
        own.run(module, start="abi", stop="flow")
        left = [
            op.name for op in walk(module.operation) if op.name.startswith(("flow.dispatch", "flow.tensor"))
        ]
    assert [name for name in left if name in ("flow.dispatch", "flow.tensor.update")] == ["flow.dispatch"]


def test_its_ops_are_nobody_elses() -> None:
    """The chains that join caches are left out where a kernel computes the attention."""
    text = (PROGRAMS / "later_row.mlir").read_text()
    found = find_here(text.encode(), "p.mlir", HOST, chains=True)
    chains = [each for each in found.places if each.sites[-1].problem.fused]
    assert chains
    assert {case for each in chains for case in each.within} == {site_of("later_row").case}
    pairs = outlook_of(found, [KERNEL, FusedOps()]).pairs
    assert [kernel.name for _, _, kernel in pairs] == [KERNEL.name]
