"""Which elementwise ops are steps of an epilogue: gelu in its spellings, residuals, in one op or in many."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from amounts import some
from c_objects import not_compiled
from epilogues import expected, with_epilogue
from iree import runtime as rt
from problems import sites_in

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.expression import X, add, atom, bounded, erf_of, multiply, number
from iree_tuner.kernels.find import find_here, find_places
from iree_tuner.kernels.kernel import COMPUTED
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.program.source import load_program
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

HOST = parse_target("llvm-cpu:host")


def epilogue(text: str) -> tuple[str, ...]:
    """The steps that have names."""
    ((*_, last),) = sites_in(text)
    return tuple(each for each in last.problem.epilogue if each != COMPUTED)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_steps_in_one_op_or_several(together: bool, inside: bool) -> None:
    steps = ("residual", "gelu", "truncf", "bias", "gelu_tanh", "relu")
    ((*sites,),) = sites_in(with_epilogue(8, 16, 4, steps, together=together, inside=inside))
    assert sites[-1].problem.epilogue == steps
    assert len(sites) == (2 if together else 7)
    assert [str(each) for each in sites[-1].problem.inputs[2:]] == ["8x16xf32", "16xf16"]


SPELLINGS = {
    "gelu": [
        "%h = arith.mulf %half, %x : T\n%d = arith.mulf %x, %inv : T\n%e = math.erf %d : T\n"
        "%p = arith.addf %one, %e : T\n%v = arith.mulf %p, %h : T",
        "%d = arith.divf %x, %root : T\n%e = math.erf %d : T\n%p = arith.mulf %e, %x : T\n"
        "%q = arith.addf %p, %x : T\n%v = arith.mulf %q, %half : T",
        "%s = math.sqrt %two : T\n%d = arith.divf %x, %s : T\n%e = math.erf %d : T\n"
        "%p = arith.addf %e, %one : T\n%h = arith.mulf %p, %half : T\n%v = arith.mulf %x, %h : T",
        "%n = arith.negf %x : T\n%d = arith.mulf %n, %inv : T\n%e = math.erfc %d : T\n"
        "%h = arith.mulf %x, %half : T\n%v = arith.mulf %h, %e : T",
    ],
    "gelu_tanh": [
        "%c = math.fpowi %x, %three : T, i64\n%w = arith.mulf %c, %cube : T\n%y = arith.addf %x, %w : T\n"
        "%z = arith.mulf %y, %slope : T\n%e = math.tanh %z : T\n%p = arith.addf %e, %one : T\n"
        "%h = arith.mulf %p, %half : T\n%v = arith.mulf %x, %h : T",
        "%c = math.powf %x, %three_f : T\n%w = arith.mulf %cube, %c : T\n%y = arith.addf %w, %x : T\n"
        "%z = arith.mulf %slope, %y : T\n%e = math.tanh %z : T\n%p = arith.addf %one, %e : T\n"
        "%h = arith.mulf %half, %x : T\n%v = arith.mulf %h, %p : T",
        "%s = arith.mulf %x, %x : T\n%w = arith.mulf %s, %cube : T\n%y = arith.addf %w, %one : T\n"
        "%u = arith.mulf %x, %slope : T\n%z = arith.mulf %u, %y : T\n%e = math.tanh %z : T\n"
        "%p = arith.addf %e, %one : T\n%h = arith.mulf %x, %half : T\n%v = arith.mulf %p, %h : T",
    ],
}  # fmt: skip
VALUES = {
    "one": 1.0, "two": 2.0, "half": 0.5, "inv": 0.7071067811865476, "root": 1.4142135623730951,
    "cube": 0.044715, "slope": 0.7978845608028654, "three_f": 3.0,
}  # fmt: skip


def spelled(body: str, element: str = "f32", **changed: float) -> str:
    """A product, and a body on it, on sums or on what they are truncated to."""
    head = with_epilogue(8, 16, 4, () if element == "f32" else ("truncf",), narrow=element)
    before, _, rest = head.rpartition("return ")
    value, kind = re.match(r"(%\w+) : (\S+)", rest).groups()
    constants = "\n".join(
        f"%{name} = arith.constant {changed.get(name, value)!r} : {element}" for name, value in VALUES.items()
    )
    return f"""{before}%three = arith.constant 3 : i64
      {constants}
      %e0 = tensor.empty() : {kind}
      %g = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
          ins({value} : {kind}) outs(%e0 : {kind}) {{
        ^bb0(%x: {element}, %o: {element}):
          {body.replace("T", element)}
          linalg.yield %v : {element}
      }} -> {kind}
      return %g : {kind}
    }}"""


EVERY = [(name, body) for name, bodies in SPELLINGS.items() for body in bodies]


@pytest.mark.parametrize(("name", "body"), EVERY)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_spellings_of_gelu(name: str, body: str, element: str) -> None:
    assert epilogue(spelled(body, element)) == (*([] if element == "f32" else ["truncf"]), name)


@pytest.mark.parametrize(("name", "body"), EVERY)
def test_other_numbers_are_no_gelu(name: str, body: str) -> None:
    """0.797724 for sqrt(2 / pi), as torch-mlir writes it, is another function in f32, but not in f16."""
    for constant in {"half", "one", "inv", "root", "cube", "slope", "two", "three_f"}:
        if f"%{constant} " in body.replace(",", " ").replace("\n", " ") + " ":
            assert epilogue(spelled(body, **{constant: VALUES[constant] * 1.0002})) == (), constant
    if name == "gelu_tanh":
        assert epilogue(spelled(body, "f32", slope=0.797724)) == ()
        assert epilogue(spelled(body, "f16", slope=0.797724)) == ("truncf", "gelu_tanh")


@pytest.mark.parametrize(
    "body",
    [
        "%v = math.erf %x : T",
        "%d = arith.mulf %x, %x : T\n%v = arith.addf %d, %x : T",
        SPELLINGS["gelu"][0].replace("math.erf", "math.tanh"),
        SPELLINGS["gelu"][0]
        + "\n%v2 = arith.addf %v, %x : T".replace("%v2", "%w")
        + "\n%u = arith.addf %w, %w : T",
    ],
    ids=["erf", "square", "tanh for erf", "more after it"],
)
def test_what_is_near_is_no_gelu(body: str) -> None:
    last = body.splitlines()[-1].split()[0]
    assert epilogue(spelled(body).replace("linalg.yield %v", f"linalg.yield {last}")) == ()


def test_what_else_uses_a_value_keeps_it() -> None:
    """The sums before gelu are returned, too: a kernel has one result."""
    text = with_epilogue(8, 16, 4, ("bias", "gelu"))
    both = text.replace("-> tensor<8x16xf32> {", "-> (tensor<8x16xf32>, tensor<8x16xf32>) {", 1)
    both = both.replace(
        "return %r1 : tensor<8x16xf32>", "return %r1, %r0 : tensor<8x16xf32>, tensor<8x16xf32>"
    )
    assert epilogue(both) == ("bias",)


def test_the_same_operand_twice_is_no_residual() -> None:
    """An input that is also an operand of the product has one place in a case."""
    text = with_epilogue(16, 16, 16, ("residual",)).replace("%extra0:", "%unused:").replace("%extra0", "%a")
    assert epilogue(text) == ()


def test_an_operand_that_cancels_out_is_left() -> None:
    text = with_epilogue(8, 16, 4, ("residual", "residual", "relu"), together=True)
    text = re.sub(r"%v1 = arith.addf %a1, %v0", "%v1 = arith.subf %v0, %a1", text).replace(
        "%extra1", "%extra0"
    )
    text = text.replace(", %extra0: tensor<8x16xf32>", "", 1)
    assert epilogue(text) == ()


ERF = """
func.func @main(%a: tensor<24x40xf16>, %b: tensor<40x64xf16>) -> tensor<24x64xf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<24x40xf16>, tensor<40x64xf16>) -> tensor<24x64xf32>
  %1 = stablehlo.convert %0 : (tensor<24x64xf32>) -> tensor<24x64xf16>
  %half = stablehlo.constant dense<0.5> : tensor<24x64xf16>
  %root = stablehlo.constant dense<0.70710678> : tensor<24x64xf16>
  %one = stablehlo.constant dense<1.0> : tensor<24x64xf16>
  %2 = stablehlo.multiply %half, %1 : tensor<24x64xf16>
  %3 = stablehlo.multiply %1, %root : tensor<24x64xf16>
  %4 = chlo.erf %3 : tensor<24x64xf16> -> tensor<24x64xf16>
  %5 = stablehlo.add %one, %4 : tensor<24x64xf16>
  %6 = stablehlo.multiply %2, %5 : tensor<24x64xf16>
  return %6 : tensor<24x64xf16>
}
"""
"""gelu as JAX writes it with `lax.erf`, of which the compiler makes a quotient of polynomials."""

NUMERATOR = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
    -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
DENOMINATOR = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
    -1.42647390514189e-02,
)  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "last", "is_erf"), [(4.0, -1.42647390514189e-02, True), (4.0, -1.426e-02, False),
                                  (3.0, -1.42647390514189e-02, False)],
)  # fmt: skip
def test_erf_as_a_quotient_of_polynomials(bound: float, last: float, is_erf: bool) -> None:
    """Whose numbers are those of erf, within f32's precision; where it is 1 so far out."""

    def limited(value, by):
        return bounded("at_most", bounded("at_least", value, -by), by)

    def polynomial(coefficients):
        total = number(0.0)
        for each in coefficients:
            total = add(multiply(total, multiply(x, x)), number(each))
        return total

    x = limited(atom(X), bound)
    quotient = multiply(
        multiply(x, polynomial(NUMERATOR)), atom(("inverse", polynomial((*DENOMINATOR[:-1], last))))
    )
    assert erf_of(limited(quotient, 1.0)) == (atom(X) if is_erf else None)
    assert erf_of(quotient) is None


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_gelu_with_such_an_erf(element: str) -> None:
    (place,) = find_here(ERF.replace("f16", element).encode(), "p.mlir", HOST).places
    assert place.sites[-1].problem.epilogue == (("gelu",) if element == "f32" else ("truncf", "gelu"))


MANY = """
#id = affine_map<(m, n) -> (m, n)>
#last = affine_map<(m, n) -> (n)>
func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x64xf32>, %c: tensor<64xf32>, %d: tensor<24x64xf32>)
    -> tensor<24x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<24x40xf32>, tensor<40x64xf32>) -> tensor<24x64xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<64xf32>) -> tensor<24x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<24x64xf32>
  %cube = stablehlo.constant dense<4.471500e-02> : tensor<24x64xf32>
  %slope = stablehlo.constant dense<0.797884583> : tensor<24x64xf32>
  %one = stablehlo.constant dense<1.0> : tensor<24x64xf32>
  %half = stablehlo.constant dense<0.5> : tensor<24x64xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<24x64xf32>
  %4 = stablehlo.multiply %3, %2 : tensor<24x64xf32>
  %5 = stablehlo.multiply %cube, %4 : tensor<24x64xf32>
  %6 = stablehlo.add %2, %5 : tensor<24x64xf32>
  %7 = stablehlo.multiply %slope, %6 : tensor<24x64xf32>
  %8 = stablehlo.tanh %7 : tensor<24x64xf32>
  %9 = stablehlo.add %one, %8 : tensor<24x64xf32>
  %10 = stablehlo.multiply %half, %9 : tensor<24x64xf32>
  %11 = stablehlo.multiply %2, %10 : tensor<24x64xf32>
  %12 = stablehlo.add %d, %11 : tensor<24x64xf32>
  return %12 : tensor<24x64xf32>
}
"""
"""What JAX exports of `d + jax.nn.gelu(a @ b + c)`; the bias is repeated by an op of its own."""


IMAGES = """
func.func @main(%a: tensor<2x12x40xf32>, %b: tensor<40x64xf32>, %c: tensor<64xf32>, %d: tensor<2x12x64xf32>)
    -> tensor<2x12x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0]
      : (tensor<2x12x40xf32>, tensor<40x64xf32>) -> tensor<2x12x64xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<64xf32>) -> tensor<2x12x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x12x64xf32>
  %3 = stablehlo.add %d, %2 : tensor<2x12x64xf32>
  return %3 : tensor<2x12x64xf32>
}
"""
"""A layer on three dimensions, which is a product of matrices and a reshape in front of the other ops."""


@pytest.mark.parametrize(
    ("dims", "kind", "steps"),
    [
        ([2], "64xf32", ("bias", "residual")),
        ([0], "2xf32", ("computed",)),  # what is repeated so has no name
        ([0, 2], "2x64xf32", ("group_bias", "residual")),  # a row for each group of rows
    ],
)
def test_steps_go_on_after_a_reshape_that_keeps_columns(dims, kind, steps) -> None:
    text = IMAGES.replace("%c: tensor<64xf32>", f"%c: tensor<{kind}>")
    text = text.replace("dims = [2] : (tensor<64xf32>)", f"dims = {dims} : (tensor<{kind}>)")
    (place,) = find_here(text.encode(), "p.mlir", HOST).places
    assert place.sites[-1].problem.epilogue == steps
    assert place.sites[-1].problem.result.shape == ((2, 12, 64) if steps else (24, 64))


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
@pytest.mark.parametrize(
    ("text", "steps"),
    some(
        [
            (IMAGES, ("bias", "residual")),
            (ERF.replace("f16", "f32"), ("gelu",)),
            (MANY, ("bias", "gelu_tanh", "residual")),
            (
                with_epilogue(24, 64, 40, ("gelu", "residual", "relu", "bias")),
                ("gelu", "residual", "relu", "bias"),
            ),
            (
                with_epilogue(24, 64, 40, ("bias", "gelu", "residual"), together=True),
                ("bias", "gelu", "residual"),
            ),
        ],
        5,
    ),
    ids=some(["a layer", "a quotient for erf", "as JAX has it", "one after the other", "in one op"], 5),
)
def test_plain_programs_with_the_spec_call_the_kernel(text, steps, compilers, tmp_path) -> None:
    """iree-compile with the spec: nothing but the kernel's dispatch is left, and its numbers are numpy's."""
    target, kernel = parse_target("llvm-cpu:host"), CGemm()
    places = find_places(load_program(text), target, compilers)
    site, _ = places.places[0].site_for(kernel)
    assert site.problem.epilogue == steps
    code = kernel.make(site.problem, target, kernel.variants(site.problem, target)[0])
    save_kernel_spec([(site, code)], places.target, new_context(), tmp_path / "k.mlir")
    (tmp_path / "program.mlir").write_text(text)
    command = [Path(sys.executable).with_name("iree-compile"), tmp_path / "program.mlir", *target.flags]
    command.append(f"{SPEC_FLAG}={tmp_path / 'k.mlir'}")
    command += [f"--dump-compilation-phases-to={tmp_path / 'phases'}", "-o", tmp_path / "program.vmfb"]
    subprocess.run(command, check=True)
    (seen,) = (tmp_path / "phases").glob("*.preprocessing.mlir")
    main = seen.read_text().partition("util.func public @main")[2]
    assert "linalg." not in main
    assert main.count("flow.dispatch @kernel_") == 1
    rng = np.random.default_rng(0)
    shapes = [each.shape for each in site.problem.inputs]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    shape = site.problem.result.shape
    given = inputs if len(shape) == 2 else [inputs[0].reshape(*shape[:-1], -1), *inputs[1:]]
    module = rt.load_vm_flatbuffer_file(str(tmp_path / "program.vmfb"), driver="local-sync")
    want = expected(given[0].astype(np.float64) @ inputs[1], steps, inputs[2:])
    np.testing.assert_allclose(module.main(*given).to_host(), want, rtol=1e-5, atol=1e-5)


TWICE = """
func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x64xf32>, %c: tensor<64xf32>) -> tensor<24x64xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<24x40xf32>, tensor<40x64xf32>) -> tensor<24x64xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<64xf32>) -> tensor<24x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<24x64xf32>
  %d = stablehlo.add %a, %a : tensor<24x40xf32>
  %3 = stablehlo.dot %d, %b : (tensor<24x40xf32>, tensor<40x64xf32>) -> tensor<24x64xf32>
  %4 = stablehlo.add %3, %1 : tensor<24x64xf32>
  %5 = stablehlo.add %2, %4 : tensor<24x64xf32>
  return %5 : tensor<24x64xf32>
}
"""
"""Two equal products with a bias each; the second one goes on with the first one's result."""


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
def test_what_goes_on_is_not_taken_by_what_ends_before(compilers, monkeypatch, tmp_path) -> None:
    """As in ResNet, where a block's last convolution and its shortcut are of one size."""
    not_compiled(monkeypatch, "c_gemm")
    target, kernel = parse_target("llvm-cpu:host"), CGemm()
    places = find_places(load_program(TWICE), target, compilers)
    sites = [place.site_for(kernel)[0] for place in places.places]
    assert [site.problem.epilogue for site in sites] == [("bias",), ("bias", "residual")]
    codes = [kernel.make(each.problem, target, kernel.variants(each.problem, target)[0]) for each in sites]
    chosen = list(zip(sites, codes, strict=True))
    save_kernel_spec(chosen, places.target, new_context(), tmp_path / "k.mlir")
    (tmp_path / "program.mlir").write_text(TWICE)
    command = [Path(sys.executable).with_name("iree-compile"), tmp_path / "program.mlir", *target.flags]
    command += [f"{SPEC_FLAG}={tmp_path / 'k.mlir'}", "--compile-to=preprocessing"]
    seen = subprocess.run(command, check=True, capture_output=True, text=True)
    main = seen.stdout.partition("util.func public @main")[2]
    called = [line.partition("@kernel_")[2].partition("::")[0] for line in main.splitlines()]
    assert [name.rpartition("f32_")[2] for name in called if name] == ["bias", "bias_residual"]
