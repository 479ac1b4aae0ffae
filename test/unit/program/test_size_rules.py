"""The rules for dynamic sizes of programs: which are allowed and suggested, and their names."""

import pytest
from amounts import some

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.program.dynamic import cases_of, given_sizes, parse_sizes, sized, sized_cases, sizes_of
from iree_tuner.program.size_rules import size_rules, suggested
from iree_tuner.program.source import load_program


def assumed(body: str, arguments: str = "%a: tensor<?x64xf32>") -> str:
    """A program whose sizes are the results of some ops on a dimension, `%d`."""
    return f"""
func.func @main({arguments}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c48 = arith.constant 48 : index
  %d = tensor.dim %a, %c0 : tensor<?x64xf32>
  {body}
  return
}}
"""


TIE = "%t = flow.tensor.tie_shape %a : tensor<?x64xf32>{%n}"
BOUNDED = assumed(f"%n = util.assume.int %d<umin = 256, umax = 2048, udiv = 48> : index\n  {TIE}")
TIMES = assumed(
    "%q = arith.divui %d, %c48 : index\n  %k = util.assume.int %q<umin = 6, umax = 8> : index\n"
    f"  %n = arith.muli %k, %c48 : index\n  {TIE}"
)
CASES_OF_ONE = assumed("%n = util.assume.int %d[<umin = 16, umax = 16>, <umin = 64, umax = 64>] : index")
GAPS = assumed("%n = util.assume.int %d[<umin = 16, umax = 16>, <umin = 64, umax = 1024, udiv = 32>] : index")
LARGE = assumed("%n = util.assume.int %d<umin = 1000000, umax = 9007199254740991> : index")
AFFINE = assumed(
    "%q = affine.apply affine_map<(d0) -> (d0 ceildiv 16)>(%d)\n  %n = util.assume.int %q<umin = 20> : index"
)
TWO = assumed(
    "%e = tensor.dim %b, %c1 : tensor<64x?xf32>\n"
    "  %m = util.assume.int %d<umin = 8, umax = 64, udiv = 8> : index\n"
    "  %n = util.assume.int %e<umin = 256, umax = 2048, udiv = 48> : index",
    "%a: tensor<?x64xf32>, %b: tensor<64x?xf32>",
)
SHARED = assumed(
    "%n = util.assume.int %d<umin = 256, umax = 2048, udiv = 48> : index\n"
    "  %t = flow.tensor.tie_shape %b : tensor<?x4xf32>{%n}",
    "%a: tensor<?x64xf32>, %b: tensor<?x4xf32>",
)
ASSERTED = assumed('%p = arith.cmpi sle, %d, %c48 : index\n  cf.assert %p, "too long"')
OPEN = assumed("")
BRANCH = assumed("%p = arith.cmpi sle, %d, %c48 : index\n  scf.if %p {\n    "
                 "%n = util.assume.int %d<umin = 1, umax = 48> : index\n  }")  # fmt: skip
CALLED = (
    assumed("func.call @inner(%d, %a) : (index, tensor<?x64xf32>) -> ()")
    + """
func.func private @inner(%n: index, %b: tensor<?x64xf32>) {
  %m = util.assume.int %n<umin = 4, umax = 12, udiv = 4> : index
  return
}
"""
)
HLO = """
func.func @main(%a: tensor<?x?xf32, #stablehlo.bounds<8, ?>>) { return }
"""
NUMBER = """
func.func @main(%n: index, %x: tensor<4x?xf32>) -> tensor<?xf32> {
  %t = flow.tensor.tie_shape %x : tensor<4x?xf32>{%n}
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
"""
POSITION = """
func.func @main(%n: index, %x: tensor<4xf32>) -> f32 {
  %m = util.assume.int %n<umin = 0, umax = 0> : index
  %e = tensor.extract %x[%m] : tensor<4xf32>
  return %e : f32
}
"""
TORCH = """
func.func @main(%a: !torch.vtensor<[?,64],f32>, %b: !torch.vtensor<[4,?],f32>) -> !torch.vtensor<[?,64],f32> {
  %0 = torch.symbolic_int "batch" {min_val = 16, max_val = 64} : !torch.int
  %1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %a, [%0], affine_map<()[s0] -> (s0 * 16, 64)> : !torch.vtensor<[?,64],f32>
  torch.bind_symbolic_shape %b, [%0, %1], affine_map<()[s0, s1] -> (4, s0 + s1)> : !torch.vtensor<[4,?],f32>
  return %a : !torch.vtensor<[?,64],f32>
}
"""
JAX = """
func.func public @main(%a: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c16 = stablehlo.constant dense<16> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x64xf32>) -> tensor<i32>
  %q = stablehlo.divide %d, %c16 : tensor<i32>
  %r = stablehlo.remainder %d, %c16 : tensor<i32>
  %p = stablehlo.compare EQ, %r, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%p, %d) {api_version = 2 : i32, has_side_effect = true}
    : (tensor<i1>, tensor<i32>) -> ()
  %y = call @wrapped(%q, %a) : (tensor<i32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
func.func private @wrapped(%b: tensor<i32> {jax.global_constant = "b"}, %a: tensor<?x64xf32>)
    -> tensor<?x64xf32> {
  return %a : tensor<?x64xf32>
}
"""


def rules_of(text):
    (found,) = size_rules(parse_module(text.encode(), new_context(), "a.mlir")).values()
    return found


@pytest.mark.parametrize(
    ("text", "suggestion", "allowed"),
    some(
        [
            (OPEN, "--dim 128", "1 or more"),
            (BRANCH, "--dim 128", "1 or more"),
            (BOUNDED, "--dim 288", "288 to 2016 in steps of 48"),
            (TIMES, "--dim 288", "288 or 336 or 384"),
            (CASES_OF_ONE, "--dim 64", "16 or 64"),
            (GAPS, "--dim 128", "16, 64, 96, 128, 160, 192 and so on"),
            (AFFINE, "--dim 305", "305 or more"),
            (TWO, "--dim 0.0=64 --dim 1.1=288", "8 to 64 in steps of 8"),
            (SHARED, "--dim 288", "288 to 2016 in steps of 48"),
            (ASSERTED, "--dim 48", "1 to 48"),
            (CALLED, "--dim 12", "4 or 8 or 12"),
            (HLO, "--dim 0.0=8 --dim 0.1=128", "1 to 8"),
            (NUMBER, "--dim 128", "1 or more"),
            (TORCH, "--dim batch=16 --dim s1=128", "256 to 1024 in steps of 16"),
            (JAX, "--dim b=8", "16 or more in steps of 16"),
        ],
        2,
    ),
)
def test_a_size_is_suggested_that_the_program_allows(text, suggestion, allowed):
    rules = rules_of(text)
    assert rules.suggestion({}) == suggestion
    assert rules.allowed(rules.places[0]) == allowed
    options = suggestion.removeprefix("--dim ").split(" --dim ")
    assert sizes_of(sized(load_program(text), options))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    some(
        [
            (
                BOUNDED,
                "128",
                "dimension 0 of input 0 cannot be 128: the program says 288 to 2016 in steps of 48",
            ),
            (BOUNDED, "0.0=300", "dimension 0 of input 0 cannot be 300"),
            (
                TWO,
                "0.0=64 1.1=64",
                "dimension 1 of input 1 cannot be 64: .*; for example --dim 0.0=64 --dim 1.1=288",
            ),
            (SHARED, "0.0=288 1.0=336", "the program excludes these sizes together: 0.0=288, 1.0=336"),
            (LARGE, "128", "cannot be 128: the program says 1000000 or more; for example --dim 1000000"),
            (
                TORCH,
                "batch=8 s1=2",
                "batch cannot be 8: the program says 16 to 64; for example --dim batch=16",
            ),
            (
                TORCH,
                "1.1=17",
                "dimension 1 of input 1 cannot be 17: the program excludes it; for example --dim",
            ),
            (TORCH, "batch=17 1.1=18", "the program excludes these sizes together: batch=17, 1.1=18"),
            (TORCH, "head=8", r"head is not dynamic \(dynamic dimensions: batch, s1, 0.0, 1.1\)"),
            (JAX, "100", "cannot be 100: the program says 16 or more in steps of 16; for example --dim b=8"),
            (POSITION, "4", "--dim has no effect: no dimension of an input is dynamic"),
            (OPEN, "0.1=4", r"dimension 1 of input 0 is not dynamic \(dynamic dimensions: 0.0\)"),
        ],
        2,
    ),
)
def test_sizes_that_the_program_excludes_are_refused(text, options, message):
    with pytest.raises(TunerError, match=message):
        sized(load_program(text), options.split())


@pytest.mark.parametrize(
    ("text", "options", "sizes"),
    some(
        [
            (TORCH, "batch=32 s1=2", {(0, 0): 512, (1, 1): 34}),
            (TORCH, "0.0=512 1.1=40", {(0, 0): 512, (1, 1): 40}),
            (TORCH, "batch=32 100", {(0, 0): 512, (1, 1): 100}),
            (JAX, "b=100000", {(0, 0): 1600000}),
            (SHARED, "1.0=336", {(0, 0): 336, (1, 0): 336}),
            (
                TORCH.replace("s0 * 16", "s0 + 1").replace("16, max_val = 64", "0, max_val = 64"),
                "0.0=1",
                {(0, 0): 1},
            ),
            (NUMBER, "0=7", {(0,): 7, (1, 1): 7}),
            (LARGE, "2000000", {None: 2000000}),
        ],
        2,
    ),
)
def test_sizes_follow_from_names_and_from_each_other(text, options, sizes):
    found = {each.dimension: each.size for each in sizes_of(sized(load_program(text), options.split()))}
    assert {place: found.get(place, found.get(None)) for place in sizes} == sizes


def test_functions_have_rules_of_their_own():
    other = BOUNDED.replace("@main", "@other")
    both = load_program(OPEN + other)
    assert sizes_of(sized(both, ["128"]))
    rules = size_rules(parse_module(both.data, new_context(), "a.mlir"))
    assert suggested(rules, {}) == "--dim 288"
    with pytest.raises(TunerError, match="cannot be 128"):
        sized(load_program(other), ["128"])


def test_several_sizes_are_cases():
    program = load_program(TORCH)
    given = parse_sizes(["batch=16,32", "s1=4", "batch=64"])
    assert given == {"batch": (16, 32, 64), "s1": (4,)}
    assert [case.name for case in cases_of(sized_cases(program, given))] == [
        "batch=16, s1=4", "batch=32, s1=4", "batch=64, s1=4",
    ]  # fmt: skip
    assert given == given_sizes({"batch": [16, 32, 64], "s1": 4})
    assert given_sizes((1, 4)) == parse_sizes(["1,4"]) == {None: (1, 4)}
    assert given_sizes(None) == {}
    with pytest.raises(UsageError, match=r"different numbers of sizes: batch=16,32,64, s1=4,5"):
        sized_cases(program, {**given, "s1": (4, 5)})
    with pytest.raises(UsageError, match="only tune compares them"):
        sized(program, ["batch=16,32", "s1=4"])
    with pytest.raises(TunerError, match="batch cannot be 8"):
        sized_cases(program, parse_sizes(["batch=16,8", "s1=4"]))


@pytest.mark.parametrize("dim", [0, -1, True, 1.5, (), "12", {"batch": ()}, {"batch": "1,4"}, {"0.0": 0}])
def test_what_is_no_size_in_python(dim):
    with pytest.raises(UsageError, match="dim must have integers of at least 1"):
        given_sizes(dim)
