"""The sources of products, run by Triton's interpreter with what variants say, beside numpy.

Arguments: how many cases of each kind; all without any.
"""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
import weights_given
from after_abi import results
from epilogues import expected, with_epilogue
from finished import GATE, HARD_SWISH, LEAKY, MISH, NORM, UPSAMPLED, finished, of_weights
from gated_programs import GEGLU, SWIGLU, WIDE, gated, gated_reference
from interpreted_tensors import KNOWN, Tensor
from problems import einsum, matmul, parts_with_bias, site_in
from test_grouped import REFERENCES
from test_grouped import site_of as grouped_site
from test_moved import PROGRAMS, site_of
from test_narrow_sums import found_in

from iree_tuner.kernels import triton_gemm, triton_source, triton_tiles
from iree_tuner.kernels.find import find_here, find_joint_here
from iree_tuner.kernels.kernel import Array
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.triton_gemm import TritonGemm, engine_of, source_of, tiles_of, workgroups_of
from iree_tuner.targets import parse_target

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
PLAIN = {"bm": 32, "bn": 32, "bk": 16, "warps": 4, "stages": 2, "persistent": 0, "split": 1}
ENGINE = {"bm": 32, "bn": 32, "bk": 32, "warps": 4, "stages": 2, "persistent": 1, "parts": 1, "flatten": 0}
FORMS = {
    "plain": PLAIN,
    "split": {**PLAIN, "split": 4},
    "tail": {**PLAIN, "split": 4, "tail": 1},
    "one_row": {"bn": 16, "bk": 32, "warps": 4, "stages": 2, "persistent": 0, "split": 1},
    "row_split": {"bn": 16, "bk": 32, "warps": 4, "stages": 2, "persistent": 0, "split": 4},
    "in_registers": {"bn": 16, "bk": 16, "warps": 4, "stages": 1, "persistent": 0, "split": 2},
    "words": {"bn": 32, "bk": 16, "warps": 1, "stages": 1, "persistent": 0, "split": 1, "words": 4},
    "deep_words": {"bn": 32, "bk": 64, "warps": 1, "stages": 1, "persistent": 0, "split": 2, "words": 1},
    "whole_words": {"bn": 32, "bk": 64, "warps": 1, "stages": 1, "persistent": 0, "split": 1, "words": 1},
    "turned": {**PLAIN, "turned": 1},
    "persistent": ENGINE,
    "parts": {**ENGINE, "bn": 64, "parts": 2},
}
SIZES = {"b": 2, "h": 3, "s": 37, "d": 64, "e": 32, "m": 37, "n": 45, "k": 50, "t": 24}
SPECS = {
    "mk,kn->mn": ("plain", "split"),
    "mk,nk->mn": ("plain",),
    "ms,st->mt": ("plain",),  # odd strides
    "md,dt->mt": ("persistent", "split"),  # the engine's bounds
    "md,td->mt": ("persistent",),
    "dm,dn->mn": ("plain",),
    "mk,kn->nm": ("plain",),  # operands exchanged
    "d,dn->n": ("one_row", "plain"),
    "d,nd->n": ("one_row", "split", "row_split", "in_registers"),
    "nd,d->n": ("one_row",),
    "hk,hkn->hn": ("one_row",),
    "bsd,dt->bst": ("plain", "persistent"),
    "bsd,bdt->bst": ("persistent", "parts", "split"),
    "bsd,btd->bst": ("persistent", "plain"),
    "bhsd,bhtd->bhst": ("persistent",),
    "bhsd,htd->bhst": ("plain",),  # one operand is the same for all of b
    "bshd,bthd->bhst": ("plain",),
    "bsd,dhe->bhse": ("plain", "persistent", "split"),  # heads apart in the result
    "bhse,hen->bsn": ("plain", "split"),  # heads apart in an operand
    "bhse,hne->bsn": ("plain",),
}
STEPS = {
    ("bias", "gelu", "truncf", "residual"): ("plain", "persistent"),
    ("truncf", "silu", "factor"): ("persistent", "split"),
    ("scale", "factor", "gelu_tanh", "bias", "residual", "truncf"): ("plain",),
    ("residual", "bias", "relu"): ("parts",),
}


@triton.jit
def alone():
    """Workgroups are interpreted one after the other: the second time, what all have stored is there."""
    tl.static_assert(True)


@triton.jit
def same(values):
    """The interpreter has no assembly."""
    return values


# Conversions to bfloat16 are not interpreted.
triton_tiles._SMALL = ()
triton_source.cluster_waits, triton_source.kept_apart = alone, same


def run(problem, form, given):
    """The result of a form, all of which it has to write."""
    knobs = FORMS[form]
    shape = product_shape(problem).turned if form == "turned" else product_shape(problem)
    result_bytes = 4 if problem.result.element_type == "f32" else 2
    assert not knobs["persistent"] or engine_of(shape, result_bytes) is not None, problem
    function, constants = source_of(problem, shape, knobs)
    count = workgroups_of(shape, knobs)
    if knobs["persistent"]:
        count = constants["WORKGROUPS"] = min(3, tiles_of(shape, knobs))
    partial = np.full(count * knobs.get("bm", 1) * knobs["bn"], np.nan, np.float32)
    out = np.full(problem.result.shape, np.nan, TYPES[problem.result.element_type])
    arrays = [*given, *[given[0]] * (8 - len(given)), out, partial]
    bits = [each.view(np.uint16) if each.dtype == ml_dtypes.bfloat16 else each for each in arrays]
    bits = [each.view(np.int8) if each.dtype == np.uint8 else each for each in bits]
    KNOWN.clear()
    for _ in range(2 if knobs.get("split", 1) > 1 else 1):
        function[(count, 1, 1)](*map(Tensor, bits), **constants)
    return out.astype(np.float64)


def arrays(problem):
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(each.shape).astype(np.float32).astype(TYPES[each.element_type])
        for each in problem.inputs
    ]


def check(problem, form, spec, steps=(), within=1e-4):
    assert problem.epilogue == tuple(steps), problem.epilogue
    given = arrays(problem)
    left, right, *extras = (each.astype(np.float64) for each in given)
    wanted = expected(np.einsum(spec, left, right), steps, extras)
    found = run(problem, form, given)
    difference = np.abs(found - wanted).max() / np.abs(wanted).max()
    assert difference < within, f"{spec} {form} {steps}: off by {difference}"


most = int(sys.argv[1]) if len(sys.argv) > 1 else 100
for spec, forms in SPECS.items():
    for number, form in enumerate(forms[:most]):
        check(site_in(einsum(spec, SIZES, "bf16" if number else "f16")).problem, form, spec)
triton_gemm.MULTIPROCESSORS = 16  # 25 tiles are a round and nine
for steps in ((), ("bias", "gelu", "truncf", "residual")):
    text = (
        with_epilogue(132, 150, 130, steps, element="f16", narrow="f16") if steps else matmul(132, 150, 130)
    )
    check(site_in(text).problem, "tail", "mk,kn->mn", steps, within=4e-3 if steps else 1e-4)
triton_gemm.MULTIPROCESSORS = 132
for rows, form in ((37, "plain"), (37, "split"), (1, "one_row")):  # f32
    check(site_in(matmul(rows, 45, 130, transposed=True)).problem, form, "mk,nk->mn", within=1e-6)
for steps, forms in STEPS.items():
    for form in forms[:most]:
        text = with_epilogue(37, 72, 64, steps, element="f16", narrow="f16")
        check(site_in(text).problem, form, "mk,kn->mn", steps, within=4e-3 if "truncf" in steps else 1e-4)
for text, steps, reference in PROGRAMS.values():
    problem = site_of(text).problem
    given = arrays(problem)
    wanted = reference(*(each.astype(np.float64) for each in given))
    engine = engine_of(product_shape(problem), 2)
    for form in ("plain", "persistent")[: most if engine else 1]:
        found = run(problem, form, given)
        assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max(), f"{form} {steps}"
for spec, form in (("bsd,dhe->bhse", "plain"), ("bsd,dhe->bhse", "persistent"), ("dm,nd->nm", "plain")):
    plain = site_in(einsum(spec, SIZES)).problem
    operands = Array(plain.result.shape[-1:], "f16"), replace(plain.result, element_type="f16")
    steps = "bias", "residual"
    check(replace(plain, inputs=(*plain.inputs, *operands), epilogue=steps), form, spec, steps)
for form in ("plain", "split", "persistent")[: most + 1]:
    problem = site_in(parts_with_bias(74, 64, 3, 32)).problem
    assert problem.epilogue == ("image_bias",)
    given = arrays(problem)
    left, right, bias = (each.astype(np.float64) for each in given)
    wanted = np.einsum("md,dhe->hme", left, right) + bias[:, None]
    assert np.abs(run(problem, form, given) - wanted).max() < 1e-4 * np.abs(wanted).max(), form
for name, reference in REFERENCES.items():
    problem = grouped_site(name).problem
    given = arrays(problem)
    wanted = reference(*(each.astype(np.float64) for each in given))
    for form in ("plain", "split")[: most + 1]:
        found = run(problem, form, given).reshape(wanted.shape)
        assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max(), f"{form} {name}"
for steps in (SWIGLU, GEGLU, WIDE)[: most + 1]:
    for form in ("plain", "split", "persistent", "one_row")[: 3 if steps == GEGLU else most + 3]:
        for apart in (False, True)[: 1 if steps == GEGLU or form == "one_row" else 2]:
            problem = site_in(gated(1 if form == "one_row" else 37, 24, 64, steps, apart=apart)).problem
            assert problem.epilogue == steps
            given = arrays(problem)
            wanted = gated_reference(steps, *(each.astype(np.float64) for each in given))
            found = run(problem, form, given).reshape(wanted.shape)
            assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max(), (form, steps, apart)
for name in weights_given.WEIGHTS.keys() - {"heads"}:  # of bf16, with which the interpreter cannot calculate
    problem = weights_given.computed_site(name).problem
    assert product_shape(problem).computed, name
    given = weights_given.arrays_of(problem)
    one = product_shape(problem).m == 1
    for form in ("plain", "split", *(("one_row", "row_split", "in_registers") if one else ("turned",))):
        wanted = weights_given.wanted(name, given)
        found = run(problem, form, given).reshape(wanted.shape)
        assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max(), (name, form)
for name in sorted(weights_given.WEIGHTS.keys() - {"heads"}):
    for element in ("bf16", "f16", "f32")[:most]:
        problem = weights_given.one_row_site(name, element).problem
        given = weights_given.arrays_of(problem)
        wide = [each.astype(np.float32) if each.dtype == ml_dtypes.bfloat16 else each for each in given]
        wanted = weights_given.wanted(name, wide)
        for form in ("words", "deep_words"):
            found = run(problem, form, given).reshape(wanted.shape)
            assert np.abs(found - wanted).max() < 8e-3 * np.abs(wanted).max(), (name, element, form)
for rows, how in ((1, "plain"), (1, "turned"), (5, "plain"), (1, "bytes"), (5, "bytes")):
    text = weights_given.packed_layers(
        {"q": 128, "k": 128}, rows=rows, depth=320, turned=how == "turned", gated=True
    )
    if how == "bytes":
        text = weights_given.byte_layers({"q": 128, "k": 128}, rows=rows, depth=320, gated=True)
    _, rewritten, _ = find_joint_here(text.encode(), "", parse_target("cuda:sm_90"), chains=True, norms=True)
    (site,) = [place.sites[-1] for place in rewritten if place.sites[-1].problem.operands]
    given = weights_given.arrays_of(site.problem)
    given = [each if each.dtype == np.int8 else (each / 16).astype(each.dtype) for each in given]
    (wanted,) = results(site.case, given)
    for form in (("whole_words", "one_row") if rows == 1 else ("plain", "split"))[: most + 1]:
        found = run(site.problem, form, given).reshape(wanted.shape)
        assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max(), (site.problem.name, form)
for site, *_ in found_in("llama", "cuda:sm_90", (TritonGemm,))[0]:
    given = [(each / 4).astype(np.float16) for each in arrays(site.problem)]
    (wanted,) = results(site.case, given)
    for form in ("plain", "split", "persistent")[
        : 2 if engine_of(product_shape(site.problem), 2) is None else 3
    ]:
        found = run(site.problem, form, given).reshape(wanted.shape).astype(np.float64)
        assert np.abs(found - wanted).max() < 1e-2 * np.abs(wanted).max(), (site.problem.name, form)


FINISHED = {  # steps that have no names, with the dimensions of what they read
    "mk,kn->mn": (("plain", "split"), GATE, [((0, 1), "f32"), ((0,), "f32")]),
    "md,td->mt": (("persistent", "plain"), MISH, ()),
    "mk,kn->nm": (("plain",), GATE, [((1,), "f32"), ((0, 1), "f32")]),  # operands exchanged
    "d,nd->n": (("one_row", "split", "row_split", "in_registers"), GATE, [((0,), "f32")] * 2),
    "bsd,bdt->bst": (("persistent", "parts", "split"), GATE, [((0, 2), "f32"), ((1, 2), "f32")]),
    "bsd,dhe->bhse": (("plain", "persistent"), GATE, [((0, 2), "f32"), ((1, 3), "f32")]),  # heads apart
}
for spec, (forms, body, read) in FINISHED.items():
    for form in forms[: most + 1]:
        site = site_in(finished(einsum(spec, SIZES), body, read))
        assert site.problem.finish is not None
        given = arrays(site.problem)
        (wanted,) = results(site.case, given)
        found = run(site.problem, form, given)
        assert np.abs(found - wanted).max() < 1e-4 * np.abs(wanted).max(), (spec, form)
for steps, body, read in (
    (("bias", "truncf"), LEAKY, ()),
    (("truncf",), NORM, [((1,), "f32")] * 4),
    (("truncf", "residual"), HARD_SWISH, ()),
):
    for form in ("plain", "persistent")[:most]:
        text = with_epilogue(37, 72, 64, steps, element="f16", narrow="f16")
        site = site_in(finished(text, body, read))
        given = arrays(site.problem)
        (wanted,) = results(site.case, given)
        found = run(site.problem, form, given)
        assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max(), (steps, form)
READING = {
    "upsampled": UPSAMPLED,
    **{
        how: finished(of_weights(37, 72, 64, how), GATE, [((1,), "f32"), ((0,), "f32")])
        for how in ("turned", "bytes")
    },
}
for how, forms in (
    ("turned", ("plain", "persistent")),
    ("bytes", ("plain", "turned", "split")),
    ("upsampled", ("plain", "persistent")),
):
    text = READING[how]
    (place,) = find_here(text.encode(), how, parse_target("cuda:sm_90")).places
    site, why = place.site_for(TritonGemm())
    assert site is not None, why
    given = weights_given.arrays_of(site.problem)
    (wanted,) = results(site.case, given)
    for form in forms[: most + 1]:
        found = run(site.problem, form, given)
        assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max(), (how, form)
