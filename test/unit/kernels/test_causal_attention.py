"""Causal attention with heads that share keys, as JAX exports it, is found and computes the same."""

from pathlib import Path

import numpy as np
import pytest
from after_abi import results_of_all
from amounts import some
from kernels.test_attention_sites import KERNEL, found, needs_triton, results
from programs import causal_attention

from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.kernel import Code
from iree_tuner.targets import parse_target

CUDA = parse_target("cuda:sm_89")


def reference(query, key, value, after=0, before=None, seen=True):
    """Of arrays of heads, places and width; several heads of queries share one of keys."""
    shared = query.shape[0] // key.shape[0]
    key, value = (np.repeat(each.astype(np.float64), shared, axis=0) for each in (key, value))
    scores = 0.25 * np.einsum("hqd,hkd->hqk", query.astype(np.float64), key)
    rows, columns = scores.shape[1:]
    apart = np.arange(columns)[None] - np.arange(rows)[:, None]
    hidden = (apart > (np.inf if after is None else after)) | (
        apart < (-np.inf if before is None else -before)
    )
    scores[:, hidden | ~np.broadcast_to(seen, hidden.shape)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,hkd->hqd", weights / weights.sum(-1, keepdims=True), value)


def arrays(heads, shared, places, width):
    rng = np.random.default_rng(0)
    sizes = [(heads, places, width), *2 * [(shared, places, width)]]
    return [rng.standard_normal(each).astype(np.float16) for each in sizes]


HEADS = [(4, 2), (6, 2), (3, 3), (4, 1)]


@pytest.mark.parametrize(("heads", "shared"), HEADS)
def test_heads_may_share_keys(heads: int, shared: int) -> None:
    site = found(causal_attention(heads, shared, 20, 16))
    assert site is not None
    assert site.problem.after == 0
    assert "causal" in site.problem.name
    assert [str(each) for each in site.problem.inputs] == [
        f"{heads}x20x16xf16", *2 * [f"{shared}x20x16xf16"],
    ]  # fmt: skip


@pytest.mark.parametrize(("heads", "shared"), some(HEADS, 4))
def test_what_is_found_computes_what_the_program_does(heads: int, shared: int) -> None:
    site = found(causal_attention(heads, shared, 20, 16))
    given = arrays(heads, shared, 20, 16)
    for program in (site.case, site.alone):
        assert np.abs(results(program, given) - reference(*given)).max() < 2e-3


@pytest.mark.parametrize(
    ("what", "other", "seen"),
    [
        ("stablehlo.compare GE,", "stablehlo.compare GT,", None),  # the first query would see nothing
        ("stablehlo.compare GE,", "stablehlo.compare LE,", (None, 0)),  # later ones only
        ("%apart = stablehlo.constant dense<0>", "%apart = stablehlo.constant dense<3>", (3, None)),
        ("%apart = stablehlo.constant dense<0>", "%apart = stablehlo.constant dense<-1>", None),
        ("dense<0xFF800000> : tensor<f32> // hidden", "dense<0.0> : tensor<f32> // hidden", None),
    ],
)
def test_what_masks_say(what: str, other: str, seen: tuple[int | None, int | None] | None) -> None:
    text = causal_attention(4, 2, 20, 16)
    assert what in text
    site = found(text.replace(what, other))
    assert (None if site is None else (site.problem.after, site.problem.before)) == seen
    if site is not None:
        given = arrays(4, 2, 20, 16)
        for program in some((site.alone, site.case), 2):
            assert np.abs(results(program, given) - reference(*given, *seen)).max() < 2e-3


WINDOWS = {"window": (0, 5), "both_sides": (4, 4), "twice": (2, 7)}


def test_windows_of_keys_are_no_arrays() -> None:
    """Programs by JAX 0.10: two comparisons of positions, or of their distance, in one mask or in two.

    They are compiled as one: each as it is called alone, and by default one of them as it is compared.
    """
    folder, given = Path(__file__).parent / "attentions", arrays(4, 2, 20, 16)
    sites = {name: found((folder / f"{name}.mlir").read_text()) for name in WINDOWS}
    for name, site in sites.items():
        assert (site.problem.after, site.problem.before) == WINDOWS[name]
        assert len(site.problem.inputs) == 3
        assert "windowed" in site.problem.name
        assert CAttention().refuses(site.problem) == "it has a window of keys"
    names = [*WINDOWS, *some(WINDOWS, 3)]
    programs = [sites[name].case if at >= len(sites) else sites[name].alone for at, name in enumerate(names)]
    for name, (got,) in zip(names, results_of_all(programs, [given] * len(programs)), strict=True):
        assert np.abs(got - reference(*given, *WINDOWS[name])).max() < 2e-3, name


@pytest.mark.parametrize(
    ("what", "other", "after"),
    [
        ("stablehlo.compare GE,", "stablehlo.compare EQ,", None),
        ("i32", "i8", 0),  # in which places of longer programs would begin anew
    ],
)
def test_other_masks_are_read(what: str, other: str, after: int | None) -> None:
    """The program computes them; a query sees its own key only, or those up to it."""
    site = found(causal_attention(4, 2, 20, 16).replace(what, other))
    assert site.problem.after is None
    (mask,) = site.problem.inputs[3:]
    assert str(mask) == "1x20x20xi1"
    given = arrays(4, 2, 20, 16)
    seen = np.eye(20, dtype=bool) if after is None else np.tri(20, dtype=bool)
    wanted = np.repeat(given[2], 2, axis=0) if after is None else reference(*given)
    assert np.abs(results(site.alone, [*given, seen.reshape(mask.shape)]) - wanted).max() < 2e-3


def test_a_causal_mask_of_fewer_keys_is_read() -> None:
    """The program by JAX 0.10 hides the last four keys, too: that is no distance from a query."""
    site = found((Path(__file__).parent / "attentions" / "fewer_keys.mlir").read_text())
    assert (site.problem.after, site.problem.before) == (None, None)
    (mask,) = site.problem.inputs[3:]
    assert str(mask) == "20x20xi1"
    given, seen = arrays(4, 2, 20, 16), np.tri(20, dtype=bool) & (np.arange(20) < 16)[None]
    wanted = reference(*given, 0, seen=seen)
    assert np.abs(results(site.alone, [*given, seen]) - wanted).max() < 2e-3


@needs_triton
def test_made_without_a_gpu() -> None:
    problem = found(causal_attention(4, 2, 100, 64)).problem
    assert KERNEL.refuses(problem) == ""
    code = KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0])
    assert isinstance(code, Code)
    assert code.launch.workgroups[1] == 4
