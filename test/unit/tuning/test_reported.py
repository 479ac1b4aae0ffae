"""Programs of which `tune` said what is not true, lost the result, or did not compare it."""

import re
from pathlib import Path

import pytest
from amounts import some
from tuning.tuned import BLAMED, tuned

from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab

UNIT = Path(__file__).parents[1]
JSON_PAGE = (UNIT.parents[1] / "docs/reference/json.md").read_text()
FOLDERS = (UNIT / "tuning/cases", UNIT / "check/apart", UNIT / "program/cases")
SAID = ("unreliable", "not compared", "not checked", "wrong results", "uninitialized", "may be invalid")
"""What is said only where something is wrong with a program or its comparison."""

ROWS = re.findall(r"^\| (`.*?) \|", re.search(r"^## tune$(.*?)^## ", JSON_PAGE, re.M | re.S)[1], re.M)
DOCUMENTED = {key for row in ROWS for key in re.findall(r"`(\w+)`", row)}
"""The keys of `tune --json`."""

COMPARED = [
    ("scalar_result", ()), ("dynamic_beside", ("--dim", "8")),
    ("embed_two_tables", ()), ("embed_throws_away_win", ()), ("embed_torch", ()), ("offset_product", ()),
    ("cache_update", ()), ("dynamic_result", ()), ("dynamic_batch", ("--dim", "1")), ("decode_loop", ()),
    ("async", ()), ("shared_state", ()), ("counter", ()), ("scalar_input", ()), ("complex_input", ()),
    ("complex_result", ()),
]  # fmt: skip

PRODUCT = """
func.func @main(%a: tensor<4x512xIN>, %w: tensor<512x96xIN>) -> tensor<RESULT> {
  %d = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
    : (tensor<4x512xIN>, tensor<512x96xIN>) -> tensor<4x96xKIND>
BODY
  return %r : tensor<RESULT>
}
"""
LIMITED = "  %r = stablehlo.OP %d : tensor<4x96xKIND>"
CLAMPED = """
  %l = stablehlo.constant dense<-1.0> : tensor<KIND>
  %h = stablehlo.constant dense<1.0> : tensor<KIND>
  %r = stablehlo.clamp %l, %d, %h : (tensor<KIND>, tensor<4x96xKIND>, tensor<KIND>) -> tensor<4x96xKIND>"""
SOFTMAX = """
  %i = stablehlo.constant dense<0xFF800000> : tensor<KIND>
  %z = stablehlo.constant dense<0.0> : tensor<KIND>
  %m = stablehlo.reduce(%d init: %i) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x96xKIND>, tensor<KIND>) -> tensor<4xKIND>
  %n = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xKIND>) -> tensor<4x96xKIND>
  %s = stablehlo.subtract %d, %n : tensor<4x96xKIND>
  %e = stablehlo.exponential %s : tensor<4x96xKIND>
  %t = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<4x96xKIND>, tensor<KIND>) -> tensor<4xKIND>
  %u = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<4xKIND>) -> tensor<4x96xKIND>
  %r = stablehlo.divide %e, %u : tensor<4x96xKIND>"""
SUMMED = """
  %z = stablehlo.constant dense<0.0> : tensor<KIND>
  %r = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<4x96xKIND>, tensor<KIND>) -> tensor<KIND>"""
WIDENED = """
  %b = stablehlo.convert %d : (tensor<4x96xKIND>) -> tensor<4x96xf16>
  %r = stablehlo.tanh %b : tensor<4x96xf16>"""
TORCH = """
func.func @main(%a: !torch.vtensor<[4,512],KIND>, %w: !torch.vtensor<[512,96],KIND>)
    -> !torch.vtensor<[4,96],KIND> {
  %d = torch.aten.mm %a, %w : !torch.vtensor<[4,512],KIND>, !torch.vtensor<[512,96],KIND>
    -> !torch.vtensor<[4,96],KIND>
  %r = torch.aten.OP %d : !torch.vtensor<[4,96],KIND> -> !torch.vtensor<[4,96],KIND>
  return %r : !torch.vtensor<[4,96],KIND>
}
"""
NEGATED = "  %r = stablehlo.negate %d : tensor<4x96xKIND>"


def product(body: str, kind: str, taken: str = "", result: str = "4x96xKIND") -> str:
    """A product of 512 values and what is done with it."""
    text = PRODUCT.replace("BODY", body).replace("RESULT", result)
    return text.replace("KIND", kind).replace("IN", taken or kind)


NUMBERS = {
    "tanh f16": product(LIMITED.replace("OP", "tanh"), "f16"),
    "tanh bf16": product(LIMITED.replace("OP", "tanh"), "bf16"),
    "sigmoid": product(LIMITED.replace("OP", "logistic"), "f32"),
    "sigmoid bf16": product(LIMITED.replace("OP", "logistic"), "bf16"),
    "sine": product(LIMITED.replace("OP", "sine"), "f32"),
    "clamp": product(CLAMPED, "f32"),
    "softmax": product(SOFTMAX, "f32"),
    "f16 to f32": product(NEGATED, "f32", "f16"),
    "bf16 to f32": product(NEGATED, "f32", "bf16"),
    "f8 to f32": product(NEGATED, "f32", "f8E4M3FN"),
    "f8 to f16": product(WIDENED, "f32", "f8E5M2", "4x96xf16"),
    "a number f16": product(SUMMED, "f16", result="KIND"),
    "a number bf16": product(SUMMED, "bf16", result="KIND"),
    "a number f32": product(SUMMED, "f32", "bf16", "KIND"),
    "torch tanh f32": TORCH.replace("OP", "tanh").replace("KIND", "f32"),
    "torch sigmoid f16": TORCH.replace("OP", "sigmoid").replace("KIND", "f16"),
}
"""Results that a function limits, of narrow floats, or of one value; one kind of inputs has outliers."""


@pytest.fixture(scope="module")
def lab():
    """The workers of all runs: they start once."""
    with Lab(target_for_device("local-task"), 1) as found:
        yield found


def case(name: str) -> str:
    """A program in a file."""
    files = [folder / f"{name}.mlir" for folder in FOLDERS]
    return next(path for path in files if path.exists()).read_text()


def compared(text, lab, folder, *options):
    """That a program is compared, without a note on its numbers or on its comparison."""
    status, records, told = tuned(text, lab, folder, *options)
    said = "\n".join([*told, *(record["note"] for record in records)])
    assert status == 0, said
    assert {key for record in records for key in record} <= DOCUMENTED
    assert records[-1]["steps"], said  # that version may be slower
    assert not BLAMED.search(said)
    assert not [word for word in SAID if word in said], said


@pytest.mark.parametrize(("name", "options"), some(COMPARED, 16))
def test_a_program_is_tuned_and_compared(name, options, lab, tmp_path):
    compared(case(name), lab, tmp_path, *options)


def test_dispatches_are_checked_without_sizes_that_they_do_not_need(lab, tmp_path):
    """The product is compared in the program, and one note says what the rest needs."""
    status, records, told = tuned(case("dynamic_beside"), lab, tmp_path)
    assert (status, records[-1]["entries"], records[-1]["interval"]) == (0, 1, None), told
    assert records[-1]["note"] == (
        "the whole program was not compared: @main cannot be called: input 2 (?xf32) has "
        "dynamic sizes: set them with --dim 128"
    )


@pytest.mark.exhaustive  # test_narrow_programs has layers whose code is otherwise
@pytest.mark.parametrize("name", ["bf16_layer", "f16_layer", "tanh_layer", "f16_block"])
def test_right_code_of_a_layer_is_called_right(name, lab, tmp_path):
    compared(case(name), lab, tmp_path)


@pytest.mark.exhaustive  # test_narrow_programs compiles right code otherwise and compares it
@pytest.mark.parametrize("form", NUMBERS)
def test_right_code_is_called_right(form, lab, tmp_path):
    compared(NUMBERS[form], lab, tmp_path)


def test_a_program_that_never_compiles_is_an_error(lab, tmp_path):
    status, records, told = tuned(case("default_does_not_compile"), lab, tmp_path)
    assert (status, records) == (1, [])
    assert "the program does not compile, with or without a spec: " in told[-1]
    assert not (tmp_path / "p.spec.mlir").exists()
