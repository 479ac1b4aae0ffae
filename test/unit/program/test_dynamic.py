"""Sizes known only at run time: dispatches are described, run and matched as they are, at sizes given."""

import pytest
from amounts import some

from iree_tuner.compiler.context import new_context
from iree_tuner.device.bench import Bench
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.dynamic import DimensionSize, parse_sizes, size_for, sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import check_against_program
from iree_tuner.spec.entry import SpecEntry, entry_from_json, entry_to_json
from iree_tuner.targets import parse_target

CONFIG = "#iree_cpu.lowering_config<distribution = [24, 32, 0], vector_common_parallel = [3, 16, 0], \
vector_reduction = [0, 0, 8]>"


def matmul(m: str, k: str = "48", assumed: str = "") -> str:
    """A program of one matmul; `assumed` is what it says about m."""
    lhs, rhs, out = f"tensor<{m}x{k}xf32>", f"tensor<{k}x32xf32>", f"tensor<{m}x32xf32>"
    size = f"util.assume.int %d<{assumed}>" if assumed else "arith.addi %d, %c0"
    return f"""
func.func @main(%a: {lhs}, %b: {rhs}) -> {out} {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : {lhs}
  %m = {size} : index
  %empty = tensor.empty({"%m" if m == "?" else ""}) : {out}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %r = linalg.matmul ins(%a, %b : {lhs}, {rhs}) outs(%init : {out}) -> {out}
  return %r : {out}
}}
"""


CONV = """
func.func @main(%a: tensor<2x?x18x8xf32>, %b: tensor<3x3x8x16xf32>) -> tensor<2x?x16x16xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %h = tensor.dim %a, %c1 : tensor<2x?x18x8xf32>
  %oh = arith.subi %h, %c2 : index
  %empty = tensor.empty(%oh) : tensor<2x?x16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x?x16x16xf32>) -> tensor<2x?x16x16xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<2x?x18x8xf32>, tensor<3x3x8x16xf32>)
    outs(%init : tensor<2x?x16x16xf32>) -> tensor<2x?x16x16xf32>
  return %r : tensor<2x?x16x16xf32>
}
"""
BOUNDED = matmul("?", assumed="umin = 16, umax = 256, udiv = 8")


@pytest.fixture
def only(cpu, compilers):
    """The one dispatch of a program that is given sizes."""

    def find(text, *sizes, target=cpu):
        (dispatch,) = extract(sized(load_program(text), sizes), target, compilers).dispatches
        return dispatch

    return find


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.2", "=4", "0.1=", "0.1=0", "1,", "1,0", ""])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="is not the size of a dimension"):
        parse_sizes([text])


def test_a_size_of_its_own_goes_before_the_one_for_all():
    sizes = [DimensionSize(64), DimensionSize(128, (0, 1))]
    assert (size_for(sizes, (0, 1)), size_for(sizes, (0, 2))) == (128, 64)
    assert size_for(sizes[1:], (0, 2)) is None


def test_without_a_size_it_says_which_loop_is_dynamic_and_what_to_do(only):
    dispatch = only(matmul("?"))
    assert not dispatch.tunable
    assert dispatch.reason == "dimension m is dynamic: set it with --dim 128"


def test_the_dispatch_runs_as_it_is_at_the_size_given(only, cpu, compilers):
    dispatch = only(matmul("?"), "20")
    assert dispatch.workload.loops == (20, 32, 48)
    assert dispatch.workload.name == "matmul_Dx32x48_f32_f32_f32"
    shapes = [slice_.shape for binding in dispatch.harness.bindings for slice_ in binding.tensors]
    assert shapes == [(20, 48), (48, 32), (20, 32)]
    assert dispatch.harness.buffer_bytes == 4 * (20 * 48 + 48 * 32 + 20 * 32)
    builder, measurer = Builder(cpu, compilers), Measurer("local-task")
    try:
        default, tuned = (builder.build(dispatch.harness, each) for each in (None, configured(dispatch)))
        assert (default.outcome, tuned.outcome) == ("ok", "ok")
        assert default.digest != tuned.digest
        tolerance = Tolerance("f32", dispatch.workload.reduction_length)
        bench = Bench(dispatch.harness, "local-task", default.vmfb, tolerance)
        assert measurer.agrees(tuned.vmfb, bench).ok
    finally:
        measurer.close()


def test_a_size_of_an_input_that_the_program_does_not_use(only):
    unused = matmul("4").replace("(%a:", "(%n: tensor<2x?xi32>, %a:")
    for size in ("12", "0.1=12"):
        assert only(unused, size).workload.loops == (4, 32, 48)
    assert only(unused).tunable
    with pytest.raises(TunerError, match=r"dimension 0 of input 1 is not dynamic \(dynamic .*: 0.1\)"):
        only(unused, "1.0=12")


def test_sizes_that_stand_for_one_dimension_are_one_workload(only):
    first, second = only(matmul("?"), "20").workload, only(matmul("?"), "0.0=40").workload
    assert first == second
    assert first.key == second.key
    assert first.loops != second.loops


def test_a_size_that_the_program_computes_from_the_given_one(only):
    workload = only(CONV, "12").workload
    assert (workload.op, workload.sizes("output_image")) == ("conv", (10, 16))


@pytest.mark.parametrize("size", ["12", "20", "512"])
def test_a_size_that_the_program_rules_out(only, size):
    excluded = f"dimension 0 of input 0 cannot be {size}: the program says 16 to 256 in steps of 8"
    with pytest.raises(TunerError, match=f"{excluded}; for example --dim 128"):
        only(BOUNDED, size)


def test_a_reduction_that_is_dynamic(only):
    assert only(matmul("4", "?")).reason == "loop 2 is dynamic: set it with --dim 128"
    assert only(matmul("4", "?"), "16").workload.family == "generic"


def test_channels_that_are_dynamic(only):
    channels = CONV.replace("18x8xf32", "18x?xf32").replace("3x3x8x16", "3x3x?x16")
    dispatch = only(channels, "16")
    assert not dispatch.tunable
    assert dispatch.reason.startswith("dimensions output image and input channel are dynamic in")


@pytest.mark.parametrize("lhs", ["24x32", "1x32", "5x7"])
def test_the_sizes_that_a_dynamic_constant_hides(only, lhs):
    m, k = map(int, lhs.split("x"))
    hidden = "flow.tensor.dynamic_constant dense<{}> : tensor<{}xf32> -> tensor<?x{}xf32>"
    constants = f"""
      %a = {hidden.format("1.0", lhs, "?")}
      %b = {hidden.format("2.0", f"{k}x32", "32")}
      %c0 = arith.constant 0"""
    program = matmul("?", "?").replace("%a: tensor<?x?xf32>, %b: tensor<?x32xf32>", "")
    assert only(program.replace("%c0 = arith.constant 0", constants)).workload.loops == (m, 32, k)


@pytest.mark.parametrize(
    ("program", "size", "message"),
    [
        (matmul("?"), "0.1=4", r"dimension 1 of input 0 is not dynamic \(dynamic dimensions: 0.0\)"),
        (matmul("4"), "4", "--dim has no effect: no dimension of an input is dynamic"),
    ],
)
def test_a_size_for_what_is_not_dynamic(only, program, size, message):
    with pytest.raises(TunerError, match=message):
        only(program, size)


@pytest.mark.parametrize(
    ("tuned", "programs"),
    [
        (matmul("?"), {matmul("?"): True, BOUNDED: True, matmul("64"): False}),
        (
            BOUNDED,
            {
                BOUNDED: True,
                matmul("64"): True,
                matmul("264"): False,
                matmul("20"): False,
                matmul("?"): False,
            },
        ),
    ],
    ids=["any", "bounded"],
)
def test_a_spec_reaches_the_sizes_that_it_is_for(only, cpu, compilers, tuned, programs):
    """In the compiler's own pipeline, with the configuration in place."""
    dispatch = only(tuned, "64")
    entry = SpecEntry(dispatch.workload, configured(dispatch))
    assert entry_from_json(entry_to_json(entry)) == entry
    spec = build_spec([entry], new_context())
    together = "".join(text.replace("@main", f"@f{number}") for number, text in enumerate(programs))
    (matcher,) = check_against_program(spec, together, cpu, workers=compilers).matchers
    fired = [f"f{number}_dispatch_0" for number, fires in enumerate(programs.values()) if fires]
    assert [(hit.dispatch, hit.ignored) for hit in matcher.hits] == [(name, "") for name in fired]


@pytest.mark.parametrize("target", some(["hip:gfx942", "cuda:sm_80", "vulkan:ampere"], 2))
def test_gpus_match_dynamic_dispatches_too(only, compilers, target):
    chosen = parse_target(target)
    dispatch = only(matmul("?"), "64", target=chosen)
    info = f"lowering_config = {dispatch.default}, translation_info = {dispatch.pipeline}"
    spec = build_spec([SpecEntry(dispatch.workload, information(info))], new_context())
    (matcher,) = check_against_program(spec, matmul("?"), chosen, workers=compilers).matchers
    assert [hit.ignored for hit in matcher.hits] == [""]


def configured(dispatch):
    return information(f"lowering_config = {CONFIG}, translation_info = {dispatch.pipeline}")


def information(parts):
    info = f"#iree_codegen.compilation_info<{parts}>"
    return Configuration((OpConfiguration("root", "compilation_info", info),))
