"""Max and average pooling are one kernel with their paddings, and with what is elementwise after them."""

import numpy as np
import pytest
from after_abi import results
from kernels.numpy_triton import written

from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.targets import parse_target

IMAGE = (2, 32, 30, 48)


def pooled(combine: str, first: str, windows: str, result: str, after: str, kind: str = "f16") -> str:
    """JAX's `reduce_window` of an image with channels last, and an op after it."""
    image, made = f"tensor<{'x'.join(map(str, IMAGE))}x{kind}>", f"tensor<{result}x{kind}>"
    return f"""func.func @main(%x: {image}) -> {made} {{
      %first = stablehlo.constant dense<{first}> : tensor<{kind}>
      %0 = "stablehlo.reduce_window"(%x, %first) <{{{windows}}}> ({{
      ^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>):
        %s = stablehlo.{combine} %a, %b : tensor<{kind}>
        stablehlo.return %s : tensor<{kind}>
      }}) : ({image}, tensor<{kind}>) -> {made}
      %1 = stablehlo.{after} %0 : {made}
      return %1 : {made}
    }}"""


def windows(sizes: tuple[int, int], steps=(1, 1), dilations=(1, 1), around: str = "") -> str:
    named = (("window_dimensions", sizes), ("window_strides", steps), ("window_dilations", dilations))
    lists = [f"{name} = array<i64: 1, {each[0]}, {each[1]}, 1>" for name, each in named]
    padding = f"padding = dense<[[0, 0], {around}, [0, 0]]> : tensor<4x2xi64>"
    return ", ".join([*lists, *([padding] if around else [])])


PROGRAMS = {
    "padded": (
        pooled("maximum", "0xFC00", windows((3, 3), (2, 2), around="[1, 1], [1, 0]"), "2x16x15x48", "abs"), 9,
    ),
    "dilated": (
        pooled("maximum", "0xFC00", windows((2, 3), dilations=(3, 2)), "2x29x26x48", "negate"), 6,
    ),
    "uneven": (  # on one side, and more than the window reaches there
        pooled("maximum", "0xFC00", windows((3, 3), around="[0, 3], [1, 1]"), "2x33x30x48", "abs"), 9,
    ),
    "average": (
        pooled("add", "0.0", windows((2, 2), (2, 2), around="[0, 0], [1, 1]"), "2x16x16x48", "abs", "f32"), 4,
    ),
}  # fmt: skip
"""With the number of elements that a kernel reads for each result."""


def problem_in(text: str):
    found = find_here(text.encode(), "p.mlir", parse_target("cuda:sm_90"), chains=True, norms=True)
    (problem,) = {site.problem for _, site, _ in outlook_of(found, [TritonNorms()]).pairs}
    assert problem.nest is not None
    return problem, problem.nest


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_pools(name: str, monkeypatch) -> None:
    """No place outside of the image is read."""
    text, reads = PROGRAMS[name]
    problem, nest = problem_in(text)
    assert len(nest.accesses) == reads
    kind = np.float32 if name == "average" else np.float16
    given = [np.random.default_rng(0).standard_normal(IMAGE).astype(kind)]
    given[0][0, 3, 5, 7] = np.nan
    (wanted,) = results(text, given)
    np.testing.assert_allclose(written(monkeypatch, problem, given), wanted, rtol=1e-5)


def test_sums_of_narrow_values_are_rounded_once(monkeypatch) -> None:
    text = pooled("add", "0.0", windows((3, 3), (1, 1)), "2x30x28x48", "negate")
    given = [np.random.default_rng(0).uniform(1, 2, IMAGE).astype(np.float16)]
    taken = np.lib.stride_tricks.sliding_window_view(given[0], (3, 3), (1, 2)).astype(np.float32)
    found = written(monkeypatch, problem_in(text)[0], given)
    np.testing.assert_array_equal(found, -taken.sum((-1, -2)).astype(np.float16))


def test_a_kernel_widens_what_it_pools(monkeypatch) -> None:
    """As `avg_pool` does, which sums up values of f16 in f32."""
    text = pooled("add", "0.0", windows((2, 2), (2, 2)), "2x16x15x48", "abs", "f32")
    kinds = (f"tensor<{'x'.join(map(str, IMAGE))}x{each}>" for each in ("f16", "f32"))
    narrow, wide = kinds
    text = text.replace(f"%x: {wide}", f"%y: {narrow}").replace(
        "%first =", f"%x = stablehlo.convert %y : ({narrow}) -> {wide}\n%first =", 1
    )
    problem, _ = problem_in(text)
    given = [np.random.default_rng(0).standard_normal(IMAGE).astype(np.float16)]
    assert [each.element_type for each in problem.inputs] == ["f16"]
    np.testing.assert_allclose(written(monkeypatch, problem, given), results(text, given)[0], rtol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        pooled("maximum", "0xFC00", windows((9, 9)), "2x24x22x48", "abs"),  # too large a window
        pooled("minimum", "0x7C00", windows((3, 3)), "2x30x28x48", "abs"),
    ],
)
def test_no_kernel_pools(text: str) -> None:
    found = find_here(text.encode(), "p.mlir", parse_target("cuda:sm_90"), norms=True)
    assert not outlook_of(found, [TritonNorms()]).pairs
