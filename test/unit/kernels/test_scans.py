"""Running sums and the like are kernels, with elementwise ops around them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernels.after_abi import HOST, found_by, placed, results
from kernels.numpy_triton import written

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels import nest
from iree_tuner.kernels.find import target_here
from iree_tuner.kernels.kernel import Code, Launch
from iree_tuner.kernels.scans import find_scans
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.spec.external import SPEC_FLAG

KERNEL = TritonNorms()
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32}
SUM, PRODUCT, HIGHEST = "stablehlo.add", "stablehlo.multiply", "stablehlo.maximum"


def scan(
    shape: tuple[int, ...], along: int, element: str, op: str = SUM, start: str = "0.0", before: str = "",
    after: str = "", result: str = "", more: str = "",
) -> str:  # fmt: skip
    """A program with what JAX lowers `cumsum` and others to: of `%x`, or of `%y` that `before` computes."""
    kind = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    window = ", ".join(str(size if at == along else 1) for at, size in enumerate(shape))
    padding = ", ".join(f"[{size - 1 if at == along else 0}, 0]" for at, size in enumerate(shape))
    body = op if "\n" in op else f"%o = {op} %a, %b : tensor<{element}>"
    before, after = before.replace("KIND", kind), after.replace("KIND", kind)
    return f"""
func.func @main(%x: {kind}{more}) -> {result or kind} {{
  {before}
  %s = stablehlo.constant dense<{start}> : tensor<{element}>
  %z = "stablehlo.reduce_window"({"%y" if before else "%x"}, %s) <{{
    padding = dense<[{padding}]> : tensor<{len(shape)}x2xi64>, window_dimensions = array<i64: {window}>}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    {body}
    stablehlo.return %o : tensor<{element}>
  }}) : ({kind}, tensor<{element}>) -> {kind}
  {after}
  return {"%r" if after else "%z"} : {result or kind}
}}"""


LOG_OF_SUM = """
    %m = stablehlo.maximum %a, %b : tensor<f32>
    %d = stablehlo.subtract %a, %b : tensor<f32>
    %n = stablehlo.compare NE, %d, %d, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %t = stablehlo.add %a, %b : tensor<f32>
    %e = stablehlo.abs %d : tensor<f32>
    %f = stablehlo.negate %e : tensor<f32>
    %g = stablehlo.exponential %f : tensor<f32>
    %h = stablehlo.log_plus_one %g : tensor<f32>
    %i = stablehlo.add %m, %h : tensor<f32>
    %o = stablehlo.select %n, %t, %i : tensor<i1>, tensor<f32>"""

SQUARED = "%y = stablehlo.multiply %x, %x : KIND"
COUNTED = """%h = stablehlo.constant dense<1.0> : KIND
  %c = stablehlo.compare GT, %x, %h : (KIND, KIND) -> tensor<9x70xi1>
  %y = stablehlo.convert %c : (tensor<9x70xi1>) -> KIND"""
OF_PRODUCT = """%p = stablehlo.dot_general %l, %n, contracting_dims = [1] x [0]
    : (tensor<9x9xf16>, tensor<9x70xf16>) -> tensor<9x70xf16>
  %e = stablehlo.convert %p : (tensor<9x70xf16>) -> KIND
  %y = stablehlo.multiply %x, %e : KIND"""
EXCLUSIVE = """%q = stablehlo.subtract %z, %y : KIND
  %w = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<70xf32>) -> KIND
  %u = stablehlo.multiply %q, %w : KIND
  %r = stablehlo.convert %u : (KIND) -> tensor<9x70xf16>"""

LINES = {
    "rows": (scan((9, 70), 1, "f32"), np.add, 1),
    "columns": (scan((70, 40), 0, "f16"), np.add, 0),
    "middle": (scan((3, 33, 5), 1, "bf16", HIGHEST, "0xFF80"), np.maximum, 1),
    "outer": (scan((7, 3, 19), 0, "f32", PRODUCT, "1.0"), np.multiply, 0),
    "long": (scan((2, 5000), 1, "f32"), np.add, 1),
    "tall": (scan((3000, 3), 0, "i32", start="0"), np.add, 0),
    "one line": (scan((9000,), 0, "i32", HIGHEST, "-2147483648"), np.maximum, 0),
    "logs": (scan((3, 90), 1, "f32", LOG_OF_SUM, "0xFF800000"), np.logaddexp, 1),
    "squares": (scan((9, 70), 1, "f32", before=SQUARED), np.add, 1),
    "counts": (scan((9, 70), 1, "f32", before=COUNTED), np.add, 1),
}  # fmt: skip
OF = {"squares": np.square, "counts": lambda x: x > 1}
"""What is added up of `%x`."""


def given_to(problem):
    rng = np.random.default_rng(0)
    return [
        rng.integers(-50, 50, each.shape, np.int32) if each.element_type == "i32"
        else rng.uniform(0.5, 1.5, each.shape).astype(KINDS[each.element_type])
        for each in problem.inputs
    ]  # fmt: skip


@pytest.mark.parametrize("workgroups", [528, 2])
@pytest.mark.parametrize("name", LINES)
def test_they_compute_what_numpy_does(monkeypatch, name: str, workgroups: int) -> None:
    """Along any dimension, also of several tiles; with few workgroups, of several lines in a tile."""
    monkeypatch.setattr(nest, "WORKGROUPS", workgroups)
    text, combine, along = LINES[name]
    site, *_ = found_by(find_scans, text)
    assert KERNEL.refuses(site.problem) == ""
    assert site.problem.scanned == along
    (x,) = given = given_to(site.problem)
    wide = x.astype(np.int64 if x.dtype == np.int32 else np.float64)
    wanted = combine.accumulate(OF.get(name, np.positive)(wide), along)
    found = written(monkeypatch, site.problem, given)
    near = {"f32": 1e-5, "f16": 2.0**-10, "bf16": 2.0**-8, "i32": 0.0}[site.problem.result.element_type]
    np.testing.assert_allclose(found.astype(wanted.dtype), wanted, rtol=near)


WITH_MORE = scan(
    (9, 70), 1, "f32", before=OF_PRODUCT, after=EXCLUSIVE, result="tensor<9x70xf16>",
    more=", %v: tensor<70xf32>, %l: tensor<9x9xf16>, %n: tensor<9x70xf16>",
)  # fmt: skip


def test_ops_around_a_scan_are_computed_with_it(monkeypatch) -> None:
    """Also of what is scanned, which is not read from memory. Each is also found without these."""
    sites = found_by(find_scans, WITH_MORE)
    assert [len(site.problem.nest.accesses) for site in sites] == [4, 3, 2, 1], "one of them is the sums"
    shapes = [[each.shape for each in site.problem.inputs] for site in sites]
    whole = (9, 70)
    assert shapes == [[whole, whole, (70,)], [whole, (70,)], [whole, whole], [whole]]
    assert [site.problem.scanned for site in sites] == [None, None, 1, 1]
    for site in sites:
        given = given_to(site.problem)
        (wanted,) = results(site.case, given)
        found = written(monkeypatch, site.problem, given)
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=2.0**-9, atol=1e-6)
    x, p, v = given = given_to(sites[0].problem)
    y = x.astype(float) * p
    wanted = (np.cumsum(y, 1) - y) * v
    found = written(monkeypatch, sites[0].problem, given)
    np.testing.assert_allclose(found.astype(float), wanted, rtol=2.0**-9, atol=1e-6)


RUNNING_MEAN = """%i = stablehlo.iota dim = 1 : tensor<9x70xi32>
  %o = stablehlo.constant dense<1> : tensor<9x70xi32>
  %c = stablehlo.add %i, %o : tensor<9x70xi32>
  %n = stablehlo.convert %c : (tensor<9x70xi32>) -> KIND
  %r = stablehlo.divide %z, %n : KIND"""


def test_steps_after_a_scan_may_use_positions(monkeypatch) -> None:
    """Such as how many elements were added."""
    site, *_ = found_by(find_scans, scan((9, 70), 1, "f32", after=RUNNING_MEAN))
    assert "place" in {each.op for each in site.problem.nest.after}
    (x,) = given = given_to(site.problem)
    found = written(monkeypatch, site.problem, given)
    np.testing.assert_allclose(found, np.cumsum(x.astype(float), 1) / np.arange(1, 71), rtol=1e-5)


def test_a_number_that_is_none_stays(monkeypatch) -> None:
    """For all later elements, in the tile and in later ones, and for no earlier ones."""
    site, *_ = found_by(find_scans, LINES["long"][0])
    x = np.ones((2, 5000), np.float32)
    x[1, 1500] = np.nan
    found = np.isnan(written(monkeypatch, site.problem, [x]))
    assert not found[0].any()
    assert not found[1, :1500].any()
    assert found[1, 1500:].all()


def test_a_spec_puts_them_into_a_program(tmp_path: Path) -> None:
    """The longest one is tried first, although a scan comes before the ops after it."""
    for text, wanted in ((LINES["rows"][0], 1), (WITH_MORE, 1), (LINES["middle"][0], 1)):
        found = [site for site in found_by(find_scans, text) if not KERNEL.refuses(site.problem)]
        code = Code("object", "scan", b"", Launch((1, 1, 1)))
        spec = tmp_path / "spec.mlir"
        save_kernel_spec([(site, code) for site in found], target_here(HOST), new_context(), spec)
        assert placed(text, (f"{SPEC_FLAG}={spec}",)) == wanted


def test_others_are_left_to_the_compiler() -> None:
    assert not found_by(find_scans, scan((9, 1), 1, "f32")), "there is nothing to scan"
    (site,) = found_by(find_scans, scan((9, 70), 1, "i8", start="0"))
    assert KERNEL.refuses(site.problem) == "it scans i8"
    assert not found_by(find_scans, LAST), "the last sums are used"


LAST = """
func.func @main(%x: tensor<9x70xf32>) -> (tensor<9x70xf32>, tensor<9xf32>) {
  %s = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x70xf32>
  %o = tensor.empty() : tensor<9xf32>
  %f = linalg.fill ins(%s : f32) outs(%o : tensor<9xf32>) -> tensor<9xf32>
  %z:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<9x70xf32>)
      outs(%e, %f : tensor<9x70xf32>, tensor<9xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      iree_linalg_ext.yield %c : f32
  } -> tensor<9x70xf32>, tensor<9xf32>
  return %z#0, %z#1 : tensor<9x70xf32>, tensor<9xf32>
}"""
