"""Attention as exporters write it is found, and what is found computes the same."""

import math
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import iree.runtime as rt
import numpy as np
import pytest
from problems import sites_in
from programs import attention

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.kernel import Code
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.triton_attention import TritonAttention
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.targets import parse_target

HOST, CUDA = parse_target("llvm-cpu:host"), parse_target("cuda:sm_89")
KERNEL = TritonAttention()
needs_triton = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())


@cache
def found(text: str):
    """The attention in a program, None where there is none; several tests ask for the same one's."""
    places = find_here(text.encode(), "p.mlir", HOST).places
    sites = [place.sites[-1] for place in places if is_attention(place.sites[-1].problem.workload)]
    assert len(sites) <= 1
    return sites[0] if sites else None


@cache
def compiled(program: bytes) -> bytes:
    """For the host: each program once, as several ask for the same op."""
    session = CompilerSession(HOST.flags)
    with session.context:
        return session.to_vmfb(session.parse(program))


def results(program: bytes, arrays):
    data = compiled(program)
    context = rt.SystemContext(config=rt.Config("local-sync"))
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, data))
    return context.modules.module["main"](*arrays).to_host()


def reference(query, key, value, scale):
    """Of arrays of batch, rows, heads, width."""
    scores = scale * np.einsum("bmhd,bkhd->bhmk", query.astype(np.float64), key.astype(np.float64))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhmk,bkhd->bmhd", weights, value.astype(np.float64))


def arrays(rows, keys, heads=3, width=16):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((2, n, heads, width)).astype(np.float16) for n in (rows, keys, keys)]


@pytest.mark.parametrize("keys", [pytest.param(24, marks=pytest.mark.exhaustive), 13])
def test_what_is_found_computes_what_the_program_does(keys: int) -> None:
    site = found(attention(2, 20, 3, 16, keys))
    assert site is not None
    assert site.problem.workload.sizes("batch") == (2, 3)
    assert site.problem.scale == 0.25
    assert [str(each) for each in site.problem.inputs] == ["2x20x3x16xf16", *2 * [f"2x{keys}x3x16xf16"]]
    given = arrays(20, keys)
    wanted = reference(*given, 0.25)
    for program in (site.case, site.alone):
        assert np.abs(results(program, given) - wanted).max() < 2e-3


def test_its_dispatches_are_those_of_all_its_ops() -> None:
    """Not those of its neighbors, with which the compiler fuses elementwise ops."""
    kind = "tensor<2x20x3x16xf16>"
    head, body = attention(2, 20, 3, 16, 24).split(f") -> {kind} {{", 1)
    before = f"%p = stablehlo.dot_general %q, %w, contracting_dims = [3] x [0] : ({kind}, tensor<16x16xf16>)"
    body = re.sub(r"%q\b", "%p", body)
    text = f"{head}, %w: tensor<16x16xf16>) -> {kind} {{\n{before} -> {kind}\n{body}"
    places = find_here(text.encode(), "p.mlir", HOST).places
    (own,) = [place for place in places if is_attention(place.sites[-1].problem.workload)]
    names = " ".join(own.sites[-1].dispatches)
    for part in ("matmul_6x20x24x16", "softmax", "matmul_6x20x16x24"):
        assert part in names
    (product,) = [place for place in places if not any(place.within) and place is not own]
    assert product.sites[-1].dispatches
    assert not {*product.sites[-1].dispatches} & {*own.sites[-1].dispatches}


def test_equal_ones_are_one_place() -> None:
    """Although the compiler lets them share what they start from, and has that before the first of them."""
    head, body = attention(2, 20, 3, 16, 24).split(") -> tensor<2x20x3x16xf16> {", 1)
    body, _ = body.split("return %r")
    arguments = head[head.index("(") + 1 :]
    kind = "tensor<2x20x3x16xf16>"

    def second(text: str) -> str:
        return re.sub(r"%(\w+)", r"%b_\1", text)

    text = f"""
    func.func @main({arguments}, {second(arguments)}) -> ({kind}, {kind}) {{
      {body}
      {second(body)}
      return %r, %b_r : {kind}, {kind}
    }}"""
    places = find_here(text.encode(), "p.mlir", HOST).places
    attentions = [place for place in places if is_attention(place.sites[-1].problem.workload)]
    assert [len(each.functions) for each in attentions] == [2]


def test_without_a_scale_and_with_one_that_divides() -> None:
    plain = attention(2, 20, 3, 16, 24)
    assert found(plain.replace("stablehlo.multiply", "stablehlo.divide")).problem.scale == 4.0
    unscaled = plain.replace("stablehlo.multiply %products, %scales", "stablehlo.add %products, %products")
    assert found(unscaled) is None  # twice the products: not a scale that is known


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("stablehlo.subtract %scaled", "stablehlo.subtract %products"),  # the maximum is of something else
        ("dense<0xFF800000>", "dense<0.0>"),  # not of scores below zero
        ("dense<0.0>", "dense<1.0>"),  # a one more in the sum
        ("stablehlo.exponential", "stablehlo.tanh"),
        ("stablehlo.divide %powers, %spread", "stablehlo.divide %spread, %powers"),
    ],
)
def test_what_is_no_attention(what: str, other: str) -> None:
    text = attention(2, 20, 3, 16, 24)
    assert what in text
    assert found(text.replace(what, other)) is None


@pytest.mark.parametrize("which", [0, 1])
def test_products_start_from_zeros(which: int) -> None:
    case = found(attention(2, 20, 3, 16, 24)).case.decode()
    fills = re.findall(r"linalg.fill ins\(%cst : f32\) outs\(%\d+ : tensor<6x20x\d+xf32>\)", case)
    assert len(fills) == 2
    other = case.replace(fills[which], fills[which].replace("%cst :", "%one :"))
    head, start, rest = other.partition("%cst = ")
    assert any(is_attention(site.problem.workload) for own in sites_in(case) for site in own)
    sites = sites_in(f"{head}%one = arith.constant 1.0 : f32\n    {start}{rest}")
    assert not any(is_attention(site.problem.workload) for own in sites for site in own)


class Products:
    """A kernel that computes every product."""

    name = "products"

    def refuses(self, problem) -> str:
        return "" if is_contraction(problem.workload) else "it is no product"


def test_the_parts_of_what_a_kernel_computes_are_nobodys() -> None:
    """A product of other operands is still somebody's."""
    text = attention(2, 20, 3, 16, 24)
    head, body = text.split(") -> tensor<2x20x3x16xf16> {", 1)
    more = "%x: tensor<40x64xf16>, %y: tensor<64x8xf16>) -> (tensor<2x20x3x16xf16>, tensor<40x8xf16>) {"
    other = """
      %other = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<40x64xf16>, tensor<64x8xf16>) -> tensor<40x8xf16>"""
    ending = "return %r : tensor<2x20x3x16xf16>"
    assert ending in body
    body = body.replace(ending, "return %r, %other : tensor<2x20x3x16xf16>, tensor<40x8xf16>")
    places = find_here(f"{head}, {more}{other}{body}".encode(), "p.mlir", HOST)
    assert len(outlook_of(places, [Products()]).pairs) == 3
    both = outlook_of(places, [Products(), KERNEL])
    assert sorted((kernel.name, place.functions) for place, _, kernel in both.pairs) == [
        ("products", ("main",)),
        ("triton_attention", ("main",)),
    ]
    (product,) = (site.problem for _, site, kernel in both.pairs if kernel is not KERNEL)
    assert [each.shape for each in product.inputs] == [(40, 64), (64, 8)]


def test_kernels_for_products_do_not_take_it() -> None:
    site = found(attention(2, 20, 3, 16, 24))
    assert TritonGemm().refuses(site.problem) == "it is not a product whose operands are read in place"
    assert KERNEL.refuses(site.problem) == ""
    assert KERNEL.refuses(found(attention(2, 20, 3, 8, 24)).problem).startswith("its heads are 8")
    variants = KERNEL.variants(site.problem, CUDA)
    assert len(variants) == len({tuple(sorted(each.items())) for each in variants}) == 24


@needs_triton
@pytest.mark.parametrize("keys", [77, 128])
def test_made_without_a_gpu(keys: int) -> None:
    problem = found(attention(2, 100, 3, 64, keys)).problem
    code = KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0])
    assert isinstance(code, Code)
    assert code.launch.workgroups == (math.ceil(100 / code.knobs["bm"]), 6, 1)
    assert b".file" not in code.data, "no path of this machine"
    assert b"wgmma" in code.data or code.knobs["bm"] < 64


@needs_triton
@pytest.mark.parametrize("name", ["interpreted", "interpreted_scores"])
def test_the_source_computes_it(tmp_path: Path, name: str) -> None:
    """By Triton's interpreter, in a process of its own: rows and keys that no tile divides."""
    script = Path(__file__).parent / f"{name}.py"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
