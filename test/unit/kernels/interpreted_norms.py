"""The sources of sums, of ops that normalise and of chains, run by Triton's interpreter, beside numpy.

Arguments: how many norms and random chains; all norms and 20 chains without any.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from kernels.after_abi import found_by, results
from kernels.chain_programs import PROGRAMS
from kernels.group_norms import EPSILON, Norm, expected, problems, statistics
from kernels.interpreted_tensors import KNOWN, Tensor
from kernels.random_chains import random_chain
from kernels.test_reductions import FOUND, values
from kernels.test_scans import LINES, RUNNING_MEAN, WITH_MORE, given_to, scan

from iree_tuner.kernels import nest, normalizing, triton_source
from iree_tuner.kernels import split_sums as chains
from iree_tuner.kernels.formula import CONSTANT, INPUT, FormulaTerm
from iree_tuner.kernels.nest import Access, Nest, tiles_of
from iree_tuner.kernels.scans import find_scans
from iree_tuner.kernels.triton_norms import TritonNorms, function_of

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32}
KERNEL = TritonNorms()
NORMS = (
    Norm(2, 16, 16, 8, 20),
    Norm(1, 17, 19, 7, 33, element="bf16", then="none"),  # odd numbers of pixels and channels
    Norm(3, 9, 17, 4, 40, first=True),
    Norm(3, 27, 25, 5, 9, then="none"),
    Norm(1, 20, 20, 3, 55, first=True, element="f32", then="relu"),
    Norm(1, 40, 40, 2, 24, element="f32", then="none"),
    Norm(1, 1, 70, 1, 2049),  # tiles past the end of channels, and the last part past the end of pixels
)


@triton.jit
def alone():
    """Workgroups are interpreted one after the other: the second time, what all have stored is there."""
    tl.static_assert(True)


triton_source.cluster_waits = alone


def computed(loops, inputs, result, element):
    """What a kernel writes; of sums, what its parts add up to."""
    found = parts_of(loops, inputs, result, element)
    return found.sum(-1) if tiles_of(loops.merged()).sums else found


def parts_of(loops, inputs, result, element):
    """What a kernel writes; of reductions, the parts."""
    KNOWN.clear()
    function, tiles = function_of(loops, len(inputs))
    shape = (*result, tiles.apart or 1) if tiles.sums else result
    shared = [np.full(tiles.partial_bytes // 4, np.nan, np.float32)] if tiles.cluster else []
    out = np.full(shape, 1 << 30 if element == "i32" else np.nan).astype(TYPES[element])
    stored = [
        each.view(np.uint16) if each.dtype == TYPES["bf16"] else each for each in (*inputs, out, *shared)
    ]
    for _ in range(2 if tiles.cluster else 1):
        function[(tiles.workgroups, 1, 1)](*map(Tensor, stored))
    found = out.astype(float)
    assert not np.isnan(found).any()
    assert not (found == 1 << 30).any()
    return found


def run(problem, inputs):
    assert KERNEL.refuses(problem) == "", KERNEL.refuses(problem)
    assert [each.shape for each in inputs] == [each.shape for each in problem.inputs]
    assert [each.dtype for each in inputs] == [TYPES[each.element_type] for each in problem.inputs]
    return computed(problem.nest, inputs, problem.result.shape, problem.result.element_type)


def check(norm):
    """The three kernels of a norm, each with what numpy has for those before it."""
    rng = np.random.default_rng(0)
    x, scale, bias = (
        (rng.standard_normal(shape) + 3).astype(TYPES[norm.element])
        for shape in (norm.shape, norm.channels, norm.channels)
    )
    (squares, values), (normal,) = problems(norm)
    count, (total, squared) = x[0].size / norm.groups, statistics(norm, x)
    np.testing.assert_allclose(run(values, [x]), total, rtol=1e-6, err_msg=str(norm))
    mean = (total / count).astype(np.float32)
    found = run(squares, [x, mean.reshape(squares.inputs[1].shape)])
    np.testing.assert_allclose(found, squared, rtol=1e-5, err_msg=str(norm))
    root = (1 / np.sqrt(squared / count + EPSILON)).astype(np.float32)
    few = [each.reshape(shape.shape) for each, shape in zip((mean, root), normal.inputs[1:3], strict=True)]
    found, wanted = run(normal, [x, *few, scale, bias]), expected(norm, x, scale, bias)
    near = {"f16": 2.0**-9, "bf16": 2.0**-6, "f32": 1e-5}[norm.element]
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near, err_msg=str(norm))


def ops():
    """Scalar ops that group norms do not have, with the steps of one access for all rows."""
    inputs = (Access(0, 0, (50, 1)), Access(1, 7, (0, 1)))
    terms = [FormulaTerm(INPUT, "f32", input=0), FormulaTerm(INPUT, "f32", input=1)]
    wanted = []

    def term(op, of, result, element="f32", **more):
        terms.append(FormulaTerm(op, element, of, **more))
        wanted.append(result)
        return len(terms) - 1

    x = np.random.default_rng(0).standard_normal((30, 50)).astype(np.float32)
    y = np.random.default_rng(1).standard_normal(57).astype(np.float32)
    a, b = x.astype(float), y[7:].astype(float)
    two = term(CONSTANT, (), 2.0, value=2.0)
    least = term("arith.minimumf", (0, 1), np.minimum(a, b))
    most = term("arith.maxnumf", (least, 1), np.maximum(np.minimum(a, b), b))
    sum_ = term("arith.addf", (most, two), wanted[-1] + 2)
    positive = term("math.absf", (sum_,), np.abs(wanted[-1]))
    root = term("math.sqrt", (positive,), np.sqrt(wanted[-1]))
    quotient = term("arith.divf", (0, root), a / wanted[-1])
    erf = term("math.erf", (two,), 0.9953222650189527)
    product = term("arith.mulf", (quotient, erf), wanted[-2] * wanted[-1])
    larger = term("arith.cmpf", (product, 1), wanted[-1] > b, "i1", value=2.0)
    other = term("arith.cmpf", (0, 1), ~(a <= b), "i1", value=9.0)
    first = term("arith.select", (larger, product, 0), np.where(wanted[-2], wanted[-3], a))
    term("arith.select", (other, first, 1), np.where(wanted[-2], wanted[-1], b))
    found = computed(Nest((30, 50), inputs, tuple(terms), (50, 1)), [x, y], (30, 50), "f32")
    np.testing.assert_allclose(found, wanted[-1], rtol=1e-5, atol=1e-6)


def check_chains(programs):
    """Chains of any size beside the one op that the compiler makes of them; how many there were."""
    found = 0
    least, chains.LEAST_ELEMENTS = chains.LEAST_ELEMENTS, 2  # norms, which come after, have the usual one
    sites = [each for text in programs for each in found_by(chains.find_chains, text)]
    chains.LEAST_ELEMENTS = least
    for site in sites:
        problem = site.problem
        unknown = problem.nest is None or KERNEL.refuses(problem)
        if unknown or any(each.op == "math.tanh" for each in problem.nest.terms):  # not in the interpreter
            continue
        rng = np.random.default_rng(0)
        given = [rng.standard_normal(each.shape).astype(TYPES[each.element_type]) for each in problem.inputs]
        (wanted,) = results(problem.fused, given)
        np.testing.assert_allclose(run(problem, given), wanted.astype(float), rtol=1e-6, atol=1e-6)
        found += 1
    return found


def check_rows():
    """Norms of rows, as Triton's interpreter computes them, beside the program in f32."""
    folder = Path(__file__).parent / "norms"
    for name in ("layer_norm", "modulated", "heads", "softmax", "residual"):
        (site,) = found_by(normalizing.find_normalizing, (folder / f"{name}.mlir").read_text())
        rng = np.random.default_rng(0)
        shapes = [each.shape for each in site.problem.inputs]
        given = [rng.standard_normal(shape).astype(np.float16) for shape in shapes]
        (wanted,) = results(site.case, given)
        np.testing.assert_allclose(
            run(site.problem, given), wanted.astype(float).reshape(site.problem.result.shape), rtol=2.0**-8,
            atol=2.0**-8, err_msg=name,
        )  # fmt: skip


def check_reductions():
    """Highest values and sums along any loops, as Triton's interpreter combines them, beside the program."""
    least, chains.LARGE, enough = chains.LARGE, 1 << 10, nest.WORKGROUPS
    for name, nest.WORKGROUPS in [
        *((each, enough) for each in ("middle", "first", "squares", "hidden", "masked")),
        *((each, 8) for each in ("middle", "squares", "narrow_mean")),
    ]:
        text, combine = FOUND[name]
        site, *_ = found_by(partial(chains.find_reductions, taken=()), text)
        given = [values(np.random.default_rng(0), each) for each in site.problem.inputs]
        stored = [each.view(np.int8) if each.dtype == bool else each for each in given]
        result = site.problem.result
        parts = parts_of(site.problem.nest, stored, result.shape, result.element_type)
        (wanted,) = results(site.case, given)
        np.testing.assert_allclose(combine.reduce(parts, -1), wanted.astype(float), rtol=1e-5, err_msg=name)
    chains.LARGE, nest.WORKGROUPS = least, enough


def check_scans():
    """Running sums and the like, beside the program. Tiles are small, so that lines have several."""
    width, nest._SUMMED = nest._SUMMED, 64
    for text in (
        WITH_MORE,
        scan((9, 70), 1, "f32", after=RUNNING_MEAN),
        *(LINES[each][0] for each in ("rows", "columns", "middle", "logs")),
    ):
        site, *_ = found_by(find_scans, text)
        problem = site.problem
        given = given_to(problem)
        stored = [each.view(np.uint16) if each.dtype == TYPES["bf16"] else each for each in given]
        found = parts_of(problem.nest, stored, problem.result.shape, problem.result.element_type)
        (wanted,) = results(site.case, given)
        near = {"f16": 2.0**-8, "bf16": 2.0**-7}.get(problem.result.element_type, 1e-5)
        np.testing.assert_allclose(found, wanted.astype(float), rtol=near, atol=1e-6, err_msg=text)
    nest._SUMMED = width


check_scans()
check_rows()
check_reductions()
MOST = int(sys.argv[1]) if len(sys.argv) > 1 else 20
assert check_chains([*PROGRAMS.values(), *map(random_chain, range(MOST))]) >= 4
for norm in NORMS[: int(sys.argv[1]) if len(sys.argv) > 1 else None]:
    check(norm)
ops()
