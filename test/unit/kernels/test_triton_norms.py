"""Sums and ops of norms are found, made in Triton without a GPU, and compute what numpy does."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import ml_dtypes
import numpy as np
import pytest
from amounts import amount
from kernels.after_abi import found_by, results, results_of_all
from kernels.group_norms import Norm, expected, problems, program
from kernels.numpy_triton import written

from iree_tuner.compiler.worker import Workers
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.formula import CONSTANT, INPUT, FormulaTerm
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.kernel import KernelError
from iree_tuner.kernels.nest import WORKGROUPS, Access, Nest, tiles_of
from iree_tuner.kernels.normalizing import find_normalizing
from iree_tuner.kernels.source import Competitors, chains_in, each_once, make_norms, norms_in, outlook_of
from iree_tuner.kernels.split_sums import find_chains
from iree_tuner.kernels.triton_norms import TritonNorms, source_of
from iree_tuner.targets import Target, parse_target
from iree_tuner.tuning.lab import Lab

KERNEL = TritonNorms()
CUDA = parse_target("cuda:sm_90")
NORM = Norm(2, 16, 16, 8, 20)
LARGE = Norm(2, 64, 64, 32, 20)

needs_triton = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())


@pytest.mark.parametrize("norm", [NORM, Norm(3, 9, 17, 4, 40, first=True, then="relu")])
def test_a_norm_is_two_sums_and_one_op_that_reads_the_image(norm: Norm) -> None:
    """Not the wide distances from the mean, and scale and bias as vectors."""
    (squares, values), (normal,) = problems(norm)
    assert [KERNEL.refuses(each) for each in (squares, values, normal)] == ["", "", ""]
    assert FusedOps().refuses(normal), "the compiler makes one dispatch of it already"
    image = [norm.shape, norm.element]
    assert [[each.shape, each.element_type] for each in values.inputs] == [image]
    assert [[each.shape, each.element_type] for each in squares.inputs][:1] == [image]
    first, *few = ([each.shape, each.element_type] for each in normal.inputs)
    assert first == image
    groups, channels = norm.images * norm.groups, norm.channels
    assert [int(np.prod(shape)) for shape, _ in few] == [groups, groups, channels, channels]
    assert [element for _, element in few] == ["f32", "f32", norm.element, norm.element]


def test_one_op_computes_what_the_ops_do() -> None:
    (site,) = found_by(find_normalizing, program(NORM))
    rng = np.random.default_rng(0)
    arrays = [
        rng.uniform(1, 2, each.shape).astype({"f16": np.float16, "f32": np.float32}[each.element_type])
        for each in site.problem.inputs
    ]
    (ops,), (op,) = results_of_all((site.case, site.problem.fused), [arrays, arrays])
    np.testing.assert_allclose(op.astype(float), ops.astype(float), rtol=2**-9)


@pytest.mark.parametrize(
    "norm",
    [
        Norm(2, 8, 8, 8, 20),  # little
        Norm(2, 16, 16, 2, 64),  # groups as wide as the compiler's tiles
        Norm(2, 16, 16, 8, 20, first=True),  # each channel is 256 pixels that follow each other
    ],
)
def test_other_ops_are_left_to_the_compiler(norm: Norm) -> None:
    assert found_by(find_normalizing, program(norm)) == []


def test_results_that_others_read_are_read_too() -> None:
    """The norm's narrow result is a result of the program: what follows begins with it."""
    text = program(NORM)
    kind = "tensor<2x16x16x160xf16>"
    text = text.replace(f"-> {kind} {{", f"-> ({kind}, {kind}) {{")
    text = text.replace(f"return %end : {kind}", f"return %end, %narrow : {kind}, {kind}")
    (narrow,) = found_by(find_normalizing, text)
    assert len(narrow.problem.inputs) == 5
    assert b"math.exp" not in narrow.case, "silu is not of a large sum, but of what is in memory"


ENLARGED = (Path(__file__).parent / "norms" / "enlarged.mlir").read_text()
"""What JAX 0.10 lowers of a convolution of an image of 1x128x128x32 with each pixel four times."""


def test_an_enlarged_image_is_written_by_one_kernel() -> None:
    (site,) = found_by(find_normalizing, ENLARGED)
    assert KERNEL.refuses(site.problem) == ""
    assert [each.shape for each in site.problem.inputs] == [(1, 128, 128, 32)]
    image = np.random.default_rng(0).standard_normal((1, 128, 128, 32)).astype(np.float16)
    (ops,), (op,) = results_of_all((site.case, site.problem.fused), [[image], [image]])
    wanted = image.repeat(2, axis=1).repeat(2, axis=2).reshape(ops.shape)
    assert (ops == wanted).all()
    assert (op == wanted).all()
    small = ENLARGED.replace("128x", "64x").replace("256x", "128x")
    assert found_by(find_normalizing, small) == [], "the compiler's code is fast enough"


ROWS = {
    "layer_norm": [(2, 70, 700), (700,), (700,)],
    "rms_norm": [(513, 130), (130,)],  # of bf16
    "modulated": [(4, 40, 512), (4, 1536)],  # DiT: the scale and the shift are parts of one array
    "heads": [(400, 192), (24,)],
    "softmax": [(3, 100, 300)],
    "residual": [(300, 256), (256,), (300, 256)],  # the norm of a product, added to a residual
    "var": [(2, 70, 700), (), (700,), (700,)],  # `jnp.var` chooses NaN where the count is not positive
    "square": [(3, 100), (3, 100), (100, 100)],  # attention to a graph, whose rows are turned afterwards
}
"""Inputs of the norms in programs that JAX 0.10 lowers."""


@pytest.mark.parametrize("name", ROWS)
def test_a_norm_of_rows_is_one_kernel(monkeypatch, name: str) -> None:
    """Reductions and all, without the product before or after it."""
    (site,) = found_by(find_normalizing, (Path(__file__).parent / "norms" / f"{name}.mlir").read_text())
    assert KERNEL.refuses(site.problem) == ""
    assert [each.shape for each in site.problem.inputs] == ROWS[name]
    rng = np.random.default_rng(0)
    kinds = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
    kinds["i1"] = np.bool_
    given = [rng.standard_normal(each.shape).astype(kinds[each.element_type]) for each in site.problem.inputs]
    out = written(monkeypatch, site.problem, given)
    wide = [each if each.dtype == np.bool_ else each.astype(np.float32) for each in given]
    (wanted,) = results(in_f32(site.case), wide)
    near = 2.0**-6 if name == "rms_norm" else 2.0**-9
    np.testing.assert_allclose(out.astype(np.float32), wanted.reshape(out.shape), rtol=near, atol=near)


def test_a_norm_of_which_others_read_a_part_is_whole() -> None:
    """A row after the other, as RWKV mixes them: the chain begins with the norm's result."""
    text = (Path(__file__).parent / "norms" / "shifted.mlir").read_text()
    both = found_by(lambda blocks: [find_normalizing(blocks), find_chains(blocks)], text)
    norms, chains = both
    assert [each.shape for each in norms[0].problem.inputs] == [(2, 70, 700), (700,), (700,)]
    assert b"rsqrt" in norms[0].case
    assert all(b"rsqrt" not in each.case for each in chains)


def test_lanes_that_read_one_element_have_one_mask_each(monkeypatch) -> None:
    """Of groups that are whole images, which are not as many as the steps."""
    value = [FormulaTerm(INPUT, "f32"), FormulaTerm(INPUT, "f32", input=1)]
    minus = FormulaTerm("arith.subf", "f32", (0, 1))
    nest = Nest(
        (5, 1 << 15), (Access(0, 0, (1 << 15, 1)), Access(1, 0, (1, 0))), (*value, minus), (1 << 15, 1)
    )
    shapes = ((5, 1 << 15), (5,))
    (squares, _), _ = problems(NORM)
    inputs = tuple(replace(squares.inputs[0], shape=each, element_type="f32") for each in shapes)
    problem = replace(squares, nest=nest, inputs=inputs, result=inputs[0])
    given = [np.random.default_rng(0).standard_normal(each).astype(np.float32) for each in shapes]
    out = written(monkeypatch, problem, given)
    np.testing.assert_array_equal(out.reshape(shapes[0]), given[0] - given[1][:, None])
    source = source_of(nest, tiles_of(nest), 2)
    assert all("0 * lane" in line for line in source.splitlines() if "tl.load(x1" in line and "mask" in line)


def in_f32(program: bytes) -> str:
    """Without narrow types: conversions become additions of zero."""
    text = program.decode().replace("bf16", "f32").replace("f16", "f32")
    return re.sub(r"arith\.(ext|trunc)f (%\w+) : f32 to f32", r"arith.maxnumf \2, \2 : f32", text)


def test_norms_with_more_ops_are_found_first() -> None:
    """Of two in one program, where the one is the beginning of the other."""
    sites = found_by(find_normalizing, (Path(__file__).parent / "norms" / "twice.mlir").read_text())
    assert [len(each.problem.inputs) for each in sites] == [3, 2]


def test_other_problems_are_refused() -> None:
    (squares, _), _ = problems(NORM)
    assert squares.nest is not None
    for last in (FormulaTerm("math.tan", "f32", (0,)), FormulaTerm(CONSTANT, "f64")):
        other = replace(squares, nest=replace(squares.nest, terms=(*squares.nest.terms, last)))
        unknown = last.op if last.element == "f32" else last.element
        assert KERNEL.refuses(other) == f"it has {unknown}, which the kernel does not compute"
    wide = replace(squares, result=replace(squares.result, element_type="f64"))
    assert KERNEL.refuses(wide) == "its sums are f64"
    assert KERNEL.refuses(replace(squares, nest=None)).startswith("it is no sum")
    with pytest.raises(KernelError, match="does not compute"):
        KERNEL.make(squares, parse_target("llvm-cpu:host"), {})


def test_loops_that_all_arrays_go_through_like_one_are_one() -> None:
    """Of a transposed sum, in the order of memory."""
    value = FormulaTerm(INPUT, "f32")
    nest = Nest((20, 4, 16, 1, 8), (Access(0, 0, (1, 20, 640, 640, 80)),), (value,), (None, 1, None, None, 4))
    merged = nest.merged()
    assert merged.sizes == (16, 32, 20)
    assert merged.accesses == (Access(0, 0, (640, 20, 1)),)
    assert merged.written == (None, 1, None)
    same = Nest((6, 7), (Access(0, 0, (7, 1)), Access(1, 0, (0, 1))), (value,), (7, 1))
    assert same.merged() == same
    assert Nest((6, 7), (Access(0, 3, (7, 1)),), (value,), (7, 1)).merged().sizes == (42,)


@pytest.mark.parametrize("norm", [LARGE, Norm(1, 128, 128, 32, 10), Norm(2, 64, 64, 32, 20, first=True)])
def test_there_are_enough_workgroups(norm: Norm) -> None:
    for each in (each for some in problems(norm) for each in some):
        merged = each.nest.merged()
        tiles = tiles_of(merged)
        assert WORKGROUPS // 5 <= tiles.workgroups <= 4 * WORKGROUPS
        covered = tiles.workgroups * tiles.steps * tiles.elements
        assert merged.iterations <= covered <= 4 * merged.iterations


@needs_triton
def test_the_sources_compute_what_numpy_does(tmp_path: Path) -> None:
    """By Triton's interpreter, in a process of its own: odd sizes, both layouts, sums in parts, other ops."""
    script = Path(__file__).parent / "interpreted_norms.py"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, script, str(amount(3, 100))]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_triton
def test_neighbouring_threads_read_next_to_each_other() -> None:
    """Sixteen bytes of an image at once, although groups are 20 channels; eight for sums of groups."""
    (squares, values), (normal,) = problems(LARGE)
    for problem, loads, stores in ((squares, 8, 0), (values, 8, 0), (normal, 0, 4)):
        code = KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0])
        text = code.data.decode()
        assert len(re.findall(r"ld\.global\.v2\.b32", text)) == loads
        assert len(re.findall(r"st\.global\.v4\.b32", text)) == stores
        assert code.parts == 0
        assert ("barrier.cluster" in text) == bool(code.scratch_bytes) == (problem is not normal)
    assert len(re.findall(r"ld\.global\.v4\.b32", text)) == 4 + 2, "of the image, and of scale and bias"


def test_a_spec_has_the_kernel_instead_of_ops() -> None:
    kernels = [FusedOps(), KERNEL]
    found = find_here(program(NORM).encode(), "norm", CUDA, chains=True, norms=True)
    outlook = outlook_of(found, kernels)
    assert [kernel.name for _, _, kernel in outlook.pairs] == ["fused_ops", KERNEL.name] * 2 + [KERNEL.name]
    assert [kernel for _, _, kernel in each_once(outlook)] == [KERNEL] * 3
    assert not outlook.refusals
    without = find_here(program(NORM).encode(), "norm", CUDA, chains=True)
    assert [place.sites[0].problem.workload.op for place in without.places] == ["fused"] * 2


@needs_triton
def test_a_cache_and_its_new_row_are_joined() -> None:
    """Sixteen bytes at once, each from one of both. Not where the result has another order in memory."""
    (site,) = found_by(find_chains, joined("8x256x128", ""))
    assert KERNEL.refuses(site.problem) == ""
    code = KERNEL.make(site.problem, CUDA, KERNEL.variants(site.problem, CUDA)[0])
    text = code.data.decode()
    steps = len(re.findall(r"st\.global\.v4\.b32", text))
    assert len(re.findall(r"ld\.global\.v4\.b32", text)) == 2 * steps > 0
    turned = (
        "%t = stablehlo.transpose %r, dims = [0, 2, 1] : (tensor<8x256x128xf16>) -> tensor<8x128x256xf16>"
    )
    (site,) = found_by(find_chains, joined("8x128x256", turned))
    assert KERNEL.refuses(site.problem).startswith("it is no sum")


def joined(result: str, then: str) -> str:
    """255 rows of 8 heads of 128, and one more each."""
    kinds = "(tensor<8x255x128xf16>, tensor<8x1x128xf16>) -> tensor<8x256x128xf16>"
    return f"""func.func @main(%a: tensor<8x255x128xf16>, %b: tensor<8x1x128xf16>) -> tensor<{result}xf16> {{
      %r = stablehlo.concatenate %a, %b, dim = 1 : {kinds}
      {then}
      return {"%t" if then else "%r"} : tensor<{result}xf16>
    }}"""


@needs_triton
def test_norms_are_a_choice_in_the_program(compilers: Workers) -> None:
    """Code that cannot be made leaves the ops in its place; without any, there is no such choice."""
    found = find_here(program(NORM).encode(), "norm", CUDA, chains=True, norms=True)
    outlook = outlook_of(found, [FusedOps(), KERNEL])
    lab = lab_for(CUDA, compilers)
    made = norms_in(outlook, make_norms(outlook, lab), lab)
    assert [(site.problem.workload.op, code.kind) for site, code in made] == [
        ("fused", "ptx"), ("fused", "ptx"), ("normalize", "ptx"),
    ]  # fmt: skip
    some = Competitors(outlook, outlook, ("",) * len(outlook.pairs), (), norms=made)
    assert some.applies
    assert some.choices((), CUDA, lab) == {"fused ops": chains_in(outlook), "norms": made}
    other = lab_for(parse_target("llvm-cpu:host"), compilers)
    assert norms_in(outlook, make_norms(outlook, other), other) == []


def lab_for(target: Target, compilers: Workers) -> Lab:
    return cast("Lab", SimpleNamespace(target=target, compilers=compilers))


def test_what_is_expected_of_a_norm_is_what_the_compiler_has() -> None:
    rng = np.random.default_rng(0)
    arrays = [
        rng.uniform(1, 2, each).astype(np.float16) for each in (NORM.shape, NORM.channels, NORM.channels)
    ]
    (found,) = results(program(NORM), arrays)
    np.testing.assert_allclose(found.astype(float), expected(NORM, *arrays), rtol=2**-7, atol=2**-7)
