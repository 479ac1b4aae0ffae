"""Members of Vulkan's spaces compile; the compiler's choice is one; what has no knob changes no code."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest
from amounts import amount, some
from iree.compiler import ir
from light_members import light
from test_spirv import knob_values
from vulkan_programs import PROGRAMS, SOFTMAX, matmul

from iree_tuner.measure.candidate import Built, build_here
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract_here
from iree_tuner.space.build import build_spaces
from iree_tuner.space.configuration import Configuration
from iree_tuner.space.space import Space
from iree_tuner.space.spirv.attributes import (
    COMPANIONS,
    pipeline,
    spirv_configuration,
    spirv_entries,
)
from iree_tuner.targets import parse_target

AMPERE, RDNA3, BASELINE = (
    parse_target(f"vulkan:{chip}") for chip in ("ampere", "rdna3", "vp_android_baseline_2022")
)
ALL = PROGRAMS | {
    "large_f32": matmul(256, 512, 128, "f32", "f32"),
    "large_f16": matmul(512, 512, 512, "f16", "f16"),
    "mixed": matmul(256, 512, 128, "f16", "f32"),
    "unaligned": matmul(1000, 1200, 1280, "f16", "f16"),
    "bytes": matmul(256, 256, 256, "i8", "i32"),
    "brain": matmul(256, 256, 256, "bf16", "f32"),
    "batch_f16": matmul(1024, 512, 256, "f16", "f16", batch=4),
}
ATTENTION = """
func.func @main(%q: tensor<4x64x32xf32>, %k: tensor<4x64x32xf32>) -> tensor<4x64x32xf32> {
  %scale = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<4x64x32xf32>
  %r = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(b, m, n, k, l) -> (b, m, k)>, affine_map<(b, m, n, k, l) -> (b, l, k)>,
      affine_map<(b, m, n, k, l) -> (b, l, n)>, affine_map<(b, m, n, k, l) -> ()>,
      affine_map<(b, m, n, k, l) -> (b, m, n)>]>
      ins(%q, %k, %k, %scale : tensor<4x64x32xf32>, tensor<4x64x32xf32>, tensor<4x64x32xf32>, f32)
      outs(%empty : tensor<4x64x32xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<4x64x32xf32>
  return %r : tensor<4x64x32xf32>
}
"""

Find = Callable[..., Dispatch]
Build = Callable[..., Built]


@pytest.fixture(scope="module")
def dispatch_of(compilers) -> Find:
    """The one dispatch of a program for a target; each is extracted once."""
    known: dict[tuple[str, str], Dispatch] = {}

    def find(name: str, target, text: str = "") -> Dispatch:
        key = (name, str(target))
        if key not in known:
            text = text or ALL[name].text
            (known[key],) = compilers.call(extract_here, text.encode(), name, target).dispatches
        return known[key]

    return find


@pytest.fixture(scope="module")
def build(compilers) -> Build:
    def call(dispatch: Dispatch, configuration: Configuration | None, target=AMPERE) -> Built:
        return compilers.call(build_here, dispatch.harness.module, target.flags, configuration)

    return call


def spaces_of(dispatch: Dispatch, context: ir.Context) -> dict[str, Space]:
    return {space.pipeline: space for space in build_spaces(dispatch.workload, dispatch.limits, context)}


SAMPLED = ("large_f16", "large_f32", "softmax", "bytes", "conv_grouped", "brain")


@pytest.mark.parametrize(("name", "target"), some(list(product(SAMPLED, [AMPERE, RDNA3])), 5), ids=str)
def test_samples_compile(name: str, target, dispatch_of: Find, build: Build, context: ir.Context) -> None:
    dispatch = dispatch_of(name, target)
    for space in spaces_of(dispatch, context).values():
        for member in light(space.sample(16, seed=5))[: amount(1, 4)]:
            built = build(dispatch, space.configuration(member), target)
            assert built.outcome == "ok", f"{space.pipeline} {dict(member)}: {built.message}"


# The compiler's default for these does not compile (brain), or is a race (conv_depthwise, on NCHW images).
_OUTSIDE = {
    ("brain", "vulkan:ampere"): "CooperativeMatrixVectorize",
    ("brain", "vulkan:rdna3"): "CooperativeMatrixVectorize",
    ("conv_depthwise", "vulkan:ampere"): "BaseDistribute",
    ("conv_depthwise", "vulkan:rdna3"): "BaseDistribute",
    ("conv_depthwise", "vulkan:vp_android_baseline_2022"): "BaseDistribute",
}


# What differs most from chip to chip is looked at on all of them.
_CHOICES = [(name, AMPERE) for name in some(ALL, 32)] + [
    (name, target)
    for name in amount(("brain", "conv_depthwise", "large_f16"), tuple(ALL))
    for target in (RDNA3, BASELINE)
]


@pytest.mark.parametrize(("name", "target"), _CHOICES, ids=str)
def test_the_compilers_choice_is_a_member(
    name: str, target, dispatch_of: Find, build: Build, context: ir.Context
) -> None:
    dispatch = dispatch_of(name, target)
    chosen = re.findall(r"pipeline<(\w+)>", dispatch.pipeline)[0]
    spaces = spaces_of(dispatch, context)
    if (name, str(target)) in _OUTSIDE:
        assert chosen == _OUTSIDE[name, str(target)]
        assert chosen not in spaces
        return
    space = spaces[chosen]
    with context:
        actual = spirv_entries(dispatch.default, dispatch.pipeline)
        template = {
            named.name: named.attr for named in ir.DictAttr(space.op.knobs) if named.name != COMPANIONS
        }
        values = dict(pair for key, attr in template.items() for pair in knob_values(attr, actual[key]))
    if (name, target) == ("brain", BASELINE):
        assert build(dispatch, None, target).outcome == "compile_error"
        assert "must be one of 1, 2, 4" in space.violations(values)[0]
        return
    assert space.violations(values) == []
    assert build(dispatch, space.configuration(values), target).digest == build(dispatch, None, target).digest


def test_what_the_compiler_refuses_has_no_space(dispatch_of: Find, build: Build, context: ir.Context) -> None:
    for target in (AMPERE, RDNA3):
        refused = build(dispatch_of("brain", target), None, target)
        assert refused.outcome == "compile_error"
        assert "CooperativeMatrixVectorize" not in spaces_of(dispatch_of("brain", target), context)
    refused = build(dispatch_of("attention", AMPERE, ATTENTION), None)
    assert refused.outcome == "compile_error"
    assert "online_attention" in refused.message


def configured(name, levels, threads, subgroup=0, **options: int) -> Configuration:
    """A configuration that need not be a member."""
    knobs = {"tile_sizes": levels, "workgroup_size": threads, "subgroup_size": subgroup, "options": options}
    return spirv_configuration(pipeline(name), knobs)


def test_memory_is_counted_as_the_compiler_does(dispatch_of: Find, build: Build, context: ir.Context) -> None:
    dispatch = dispatch_of("large_f16", AMPERE)
    found = spaces_of(dispatch, context)
    cooperative = {
        "native_n": 16, "workgroup_0": 256, "subgroup_0": 64, "workgroup_1": 64, "subgroup_1": 32,
        "threads_x": 64, "threads_y": 4, "reduction_2": 128, "pipeline_depth": 3, "store_stage": 0,
    }  # fmt: skip
    promoted = {
        "workgroup_0": 256, "threads_y": 32, "workgroup_1": 256, "threads_x": 32, "reduction_2": 64,
        "pipeline_depth": 2, "store_stage": 0, "swap_workgroups": 0,
    }  # fmt: skip
    for name, large in (("CooperativeMatrixVectorize", cooperative), ("MatmulPromoteVectorize", promoted)):
        violations = "\n".join(found[name].violations(large))
        ours = re.findall(r"^(\d+) bytes of shared memory must be", violations, re.MULTILINE)
        refused = build(dispatch, found[name].configuration(large)).message
        theirs = re.findall(r"uses (\d+) bytes of shared memory", refused)
        assert len(ours) == 1
        assert ours == theirs


def test_pipelining_without_copies_or_steps_changes_nothing(
    dispatch_of: Find, build: Build, context: ir.Context
) -> None:
    dispatch = dispatch_of("mixed", AMPERE)
    with context:
        shape = [16, 16, 16]
        one = [[32, 32], [32, 32], [0, 0, 32], shape]
        whole = [[64, 64], [32, 32], [0, 0, 128], shape]
        many = [[64, 64], [32, 32], [0, 0, 32], shape]

        every = [(0, 0), (2, 1), (0, 1), (2, 0)]

        def digests(levels, threads, pairs) -> set[str]:
            configurations = [
                configured(
                    "CooperativeMatrixVectorize", levels, threads, 32, pipeline_depth=depth, store_stage=stage
                )
                for depth, stage in pairs
            ]
            built = [build(dispatch, configuration) for configuration in configurations]
            assert all(each.outcome == "ok" for each in built)
            return {each.digest for each in built}

        assert len(digests(one, [32, 1, 1], every[: amount(2, 4)])) == 1
        assert len(digests(whole, [64, 2, 1], every[: amount(2, 4)])) == 1
        assert len(digests(many, [64, 2, 1], every)) == 3  # without depth the stage changes nothing


def test_other_dead_knobs(dispatch_of: Find, build: Build, context: ir.Context) -> None:
    with context:
        dispatch = dispatch_of("large_f32", AMPERE)
        promoted = [
            configured("MatmulPromoteVectorize", levels, [8, 8, 1], pipeline_depth=depth, store_stage=1)
            for levels, depth in (([[16, 32, 16]], 1), ([[16, 32, 16], [2, 4]], 0))
        ]
        assert len({build(dispatch, each).digest for each in promoted}) == 1  # depth 0 is 1; no thread level
        dispatch = dispatch_of("conv_nhwc", AMPERE)
        levels = [[1, 2, 4, 8], [0, 1, 2, 4], [0, 0, 0, 0, 1, 1, 4]]
        windows = [configured("BaseVectorize", each, [2, 2, 2]) for each in (levels, [*levels, [0, 1, 0, 0]])]
        assert len({build(dispatch, each).digest for each in windows}) == 1  # no level for windows


def test_knobs_change_code(dispatch_of: Find, build: Build, context: ir.Context) -> None:
    """`swap_workgroups`, `store_stage`, `pipeline_depth` and `subgroup_size`, one at a time."""
    dispatch = dispatch_of("large_f32", RDNA3)
    space = spaces_of(dispatch, context)["MatmulPromoteVectorize"]
    member = {
        "workgroup_0": 16, "threads_y": 16, "workgroup_1": 32, "threads_x": 16, "reduction_2": 16,
        "pipeline_depth": 1, "store_stage": 1, "swap_workgroups": 0, "subgroup_size": 0,
    }  # fmt: skip
    changes = [{}, {"swap_workgroups": 1}, {"store_stage": 0}, {"pipeline_depth": 3}, {"subgroup_size": 64}]
    members = [member | change for change in changes]
    assert all(space.contains(each) for each in members)
    built = [build(dispatch, space.configuration(each), RDNA3) for each in members]
    assert all(each.outcome == "ok" for each in built)
    assert len({each.digest for each in built}) == len(changes)


def test_companions_without_levels_are_other_code(
    dispatch_of: Find, build: Build, context: ir.Context
) -> None:
    text = SOFTMAX.text.replace("16x64", "512x1024")
    dispatch = dispatch_of("large_softmax", AMPERE, text)
    space = spaces_of(dispatch, context)["SubgroupReduce"]
    configuration = space.configuration({"threads_x": 128, "reduction_1": 512})
    root_only = Configuration(configuration.ops[:1])
    assert build(dispatch, configuration).digest == build(dispatch, None).digest
    assert build(dispatch, root_only).digest != build(dispatch, configuration).digest
