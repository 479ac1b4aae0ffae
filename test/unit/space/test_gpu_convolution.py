"""What supplements take out of the compiler's convolution spaces does not compile; what they keep does."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from amounts import amount, some
from conv_programs import Conv
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.emitted import emit
from iree_tuner.space.gpu.convolution import CONVOLUTION_SUPPLEMENTS
from iree_tuner.space.gpu.matrix_problem import overpadded
from iree_tuner.space.providers import SpaceRequest, provider
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

DIRECT, IGEMM, VECTOR = "TileAndFuse", "TileAndFuse:igemm", "VectorDistribute"
CHANNELS_FIRST = Conv("nchw_fchw")
STRIDED = Conv(size=(16, 16), stride=2)
FORTY = Conv(size=(16, 16), channels=40, filters=80)
FOURTEEN = Conv("nhwc_hwcf", size=(14, 14), channels=64, filters=128)
ADDED = Conv("nhwc_hwcf", accumulate=True)
ODD = Conv(batch=1, size=(8, 48), channels=96, filters=160)


def tiles(
    workgroup: str, subgroup: str, depth: tuple[str, int], threads: int, mma: int = 0
) -> dict[str, int]:
    """An assignment of TileAndFuse: `wg_*` and `sg_*` in the order of the loops."""
    found = {"mma_idx": mma, "wg_size_x": threads, depth[0]: depth[1]}
    for prefix, sizes in (("wg", workgroup), ("sg", subgroup)):
        found |= {f"{prefix}_{loop}": int(size) for loop, size in enumerate(sizes.split())}
    return found


@dataclass(frozen=True)
class Refusal:
    """An assignment of the emitted space that the compiler refuses, why, and one that stays."""

    supplement: str
    target: str
    conv: Conv
    label: str
    refused: dict[str, int]
    error: str
    message: str
    kept: dict[str, int] = field(default_factory=dict)


REFUSALS = [
    Refusal(
        "instruction roles",
        "cuda:sm_80",
        CHANNELS_FIRST,
        IGEMM,
        tiles("1 256 16 32", "1 32 8 1", ("red_4", 3), 128),
        "bytes of shared memory; exceeded the limit",
        "wg_1 must be divisible by sg_1 * mma_m (256 % 512 == 0)",
        tiles("1 64 16 8", "1 1 8 1", ("red_4", 1), 256),
    ),
    Refusal(
        "unit strides",
        "hip:gfx942",
        STRIDED,
        DIRECT,
        tiles("2 1 16 32", "1 1 1 1", ("red_6", 4), 256),
        "expected indexing map 0 to be a projected permutation|shape does not match iteration bounds",
        "a stride of 2 cannot become a contraction in this pipeline",
    ),
    Refusal(
        "unit strides",
        "hip:gfx942",
        STRIDED,
        VECTOR,
        {"wg_2": 16, "wg_3": 64, "red_6": 64, "sg_m_cnt": 1, "sg_n_cnt": 1},
        "Unable to set intrinsic layouts",
        "a stride of 2 cannot become a contraction in this pipeline",
    ),
    Refusal(
        "static tiles",
        "hip:gfx942",
        FORTY,
        DIRECT,
        tiles("1 4 32 32", "1 2 1 1", ("red_6", 1), 128, mma=1),
        "expected 4 offset values, got 7",
        "wg_3 (32) must divide 80 or cover it",
        tiles("2 1 32 96", "2 1 1 1", ("red_6", 1), 192, mma=1),
    ),
    Refusal(
        "whole tiles",
        "hip:gfx942",
        STRIDED,
        IGEMM,
        tiles("2 1 32 32", "1 1 1 1", ("red_6", 1), 128, mma=1),
        "expected dimension 3 of collapsed type to be static value of 8",
        "wg_2 (32) must divide 16",
        tiles("2 1 16 32", "1 1 1 1", ("red_6", 2), 256),
    ),
    Refusal(
        "result in shared memory",
        "hip:gfx942",
        FOURTEEN,
        DIRECT,
        tiles("2 14 16 64", "1 14 1 4", ("red_6", 4), 128),
        "uses 173056 bytes of shared memory; exceeded the limit of 65536 bytes",
        "the operands and the result take 180224 of 65536 bytes of shared memory",
        tiles("2 7 16 16", "2 1 1 1", ("red_6", 4), 448),
    ),
    Refusal(
        "result in shared memory",
        "hip:gfx942",
        ADDED,
        IGEMM,
        tiles("1 4 32 128", "1 4 2 2", ("red_6", 4), 256),
        "uses 98304 bytes of shared memory; exceeded the limit of 65536 bytes",
        "the operands and the result take 98304 of 65536 bytes of shared memory",
        tiles("1 4 16 64", "1 2 1 2", ("red_6", 4), 256),
    ),
    Refusal(
        "accumulator of a direct convolution",
        "cuda:sm_80",
        ADDED,
        DIRECT,
        tiles("2 1 32 32", "2 1 1 2", ("red_6", 4), 128),
        "failed to bufferize op",
        "mma.sync cannot add to values in memory",
    ),
    Refusal(
        "thread layout",
        "cuda:sm_80",
        ODD,
        VECTOR,
        {"wg_1": 48, "wg_2": 8, "red_5": 48, "sg_m_cnt": 1, "sg_n_cnt": 1, "wg_size_x": 32},
        "failed to derive layout for promoted read-like op",
        "no thread layout can be derived",
        {"wg_1": 48, "wg_2": 16, "red_5": 32, "sg_m_cnt": 1, "sg_n_cnt": 1},
    ),
]

REPAIRS = [
    (
        "padding",
        "hip:gfx942",
        FORTY,
        tiles("2 4 32 32", "2 4 1 1", ("red_6", 3), 64, mma=1),
        "static value of 24",
    ),
    (
        "accumulator added afterwards",
        "cuda:sm_80",
        ADDED,
        tiles("2 4 16 16", "2 2 1 1", ("red_6", 4), 128),
        "bufferize",
    ),
]
"""Assignments that fail in the emitted space, and compile with what the supplement adds."""

SLOW = [
    # 256 instructions of 16x8 a subgroup: the compiler takes 11 s of CPU time.
    (
        DIRECT,
        Conv(dilation=2),
        tiles("2 16 16 128", "2 8 1 16", ("red_6", 8), 64),
        "the accumulators take 1024 of 256 registers of a thread",
        tiles("2 16 16 128", "2 8 1 4", ("red_6", 8), 256),
    ),
    # 192 reads of single elements, each with its index arithmetic: 10 s.
    (
        IGEMM,
        CHANNELS_FIRST,
        tiles("2 64 8 32", "2 4 4 1", ("red_4", 6), 256),
        "a thread gathers 192 elements of patches, and may gather 128",
        tiles("2 64 8 32", "2 4 4 1", ("red_4", 2), 256),
    ),
    # 1024 reads of single elements: more than a minute on any machine tried.
    (
        VECTOR,
        CHANNELS_FIRST,
        {"wg_1": 256, "wg_3": 16, "red_4": 128, "sg_m_cnt": 1, "sg_n_cnt": 1, "wg_size_x": 32},
        "a thread reads 1024 scattered elements of the filter, and may read 512",
        {"wg_1": 64, "wg_3": 16, "red_4": 128, "sg_m_cnt": 1, "sg_n_cnt": 1, "wg_size_x": 32},
    ),
]
"""On sm_80: refused for the time that they take, the message, and what stays."""

DEFAULTS = [
    pytest.param("cuda:sm_80", Conv(), marks=pytest.mark.exhaustive),
    ("cuda:sm_80", CHANNELS_FIRST),
    pytest.param("cuda:sm_86", FOURTEEN, marks=pytest.mark.exhaustive),
    ("cuda:sm_89", Conv("nhwc_hwcf", batch=1, size=(112, 112), channels=3, filters=64, window=7, stride=2)),
    (amount("cuda:sm_80", "cuda:sm_90"), ADDED),
    ("hip:gfx942", STRIDED),
    ("hip:gfx942", FORTY),
    ("hip:gfx950", CHANNELS_FIRST),
    pytest.param(
        "hip:gfx942",
        Conv("nchw_fchw", size=(14, 14), channels=64, filters=128),
        marks=pytest.mark.exhaustive,
    ),
    pytest.param(
        "hip:gfx950",
        Conv(types=("bf16", "f32"), size=(28, 28), channels=64, filters=64),
        marks=pytest.mark.exhaustive,
    ),
    ("hip:gfx1100", Conv("nhwc_hwcf", types=("f16", "f16"))),
    pytest.param("hip:gfx1201", Conv(size=(7, 7), channels=256, filters=64), marks=pytest.mark.exhaustive),
    ("hip:gfx942", Conv("nchw_fchw", types=("i8", "i32"), dilation=2)),
]


class Prepared:
    """A convolution's dispatch on a target, with its spaces as emitted and as supplemented."""

    def __init__(self, target: str, conv: Conv, workers: Workers) -> None:
        self.target = parse_target(target)
        self.workers = workers
        self.dispatch = _only(extract(load_program(conv.text), self.target, workers).dispatches)
        assert self.dispatch.harness is not None
        assert self.dispatch.workload is not None
        emitted = emit(self.dispatch.harness, self.dispatch.workload, self.target, workers)
        assert emitted.modules, emitted.note
        self.emitted, self.supplemented = (self._spaces(emitted.modules, wanted) for wanted in (False, True))

    def _spaces(self, modules: tuple[bytes, ...], supplements: bool) -> dict[str, Space]:
        workload, limits = self.dispatch.workload, self.dispatch.limits
        assert workload is not None
        assert isinstance(limits, GpuLimits)
        request = SpaceRequest(workload, limits, CONTEXT, tuple(modules), supplements)
        with CONTEXT, ir.Location.unknown(CONTEXT):
            found = provider(workload.family).constraints(request)
        return {space.label: space for space in (Space(workload, module) for module in found)}

    def build(self, space: Space, values: dict[str, int]) -> tuple[str, str]:
        """How a compilation ends: outcome and message."""
        assignment = space.complete(values)
        assert assignment is not None, space.violations_of_part(values)
        assert self.dispatch.harness is not None
        built = Builder(self.target, self.workers, timeout_s=240.0).build(
            self.dispatch.harness, space.configuration(assignment)
        )
        return built.outcome, built.message


CONTEXT = new_context()
_prepared: dict[tuple[str, Conv], Prepared] = {}


@pytest.fixture(scope="module")
def prepare(compilers):
    def find(target: str, conv: Conv) -> Prepared:
        if (target, conv) not in _prepared:
            _prepared[target, conv] = Prepared(target, conv, compilers)
        return _prepared[target, conv]

    return find


def _only(dispatches: tuple[Dispatch, ...] | list[Dispatch]) -> Dispatch:
    (dispatch,) = dispatches
    return dispatch


def cases() -> list[object]:
    """Each refusal; those that compile for long only with `--all`."""
    return [
        pytest.param(
            case,
            id=f"{case.supplement}-{case.label}",
            marks=[pytest.mark.exhaustive] * (case.conv == FOURTEEN),
        )
        for case in some(REFUSALS, 6)
    ]


@pytest.mark.parametrize("case", cases())
def test_refused(prepare, case: Refusal) -> None:
    prepared = prepare(case.target, case.conv)
    outcome, message = prepared.build(prepared.emitted[case.label], case.refused)
    assert outcome == "compile_error"
    # Some configurations fail in one of two ways, from run to run.
    assert any(error in message for error in case.error.split("|")), message
    space = prepared.supplemented[case.label]
    assert space.complete(case.refused) is None
    assert any(case.message in each for each in space.violations_of_part(case.refused))
    if case.kept:
        assert prepared.build(space, case.kept) == ("ok", "")
    else:
        assert space.count() == 0


@pytest.mark.parametrize(
    ("supplement", "target", "conv", "values", "error"), REPAIRS, ids=lambda each: str(each)[:30]
)
def test_repaired(
    prepare, supplement: str, target: str, conv: Conv, values: dict[str, int], error: str
) -> None:
    prepared = prepare(target, conv)
    outcome, message = prepared.build(prepared.emitted[IGEMM], values)
    assert outcome == "compile_error"
    assert error in message
    assert prepared.build(prepared.supplemented[IGEMM], values) == ("ok", "")


@pytest.mark.parametrize(
    ("label", "conv", "refused", "message", "kept"), SLOW, ids=["registers", "gathers", "scattered"]
)
def test_slow_to_compile(prepare, label: str, conv: Conv, refused, message: str, kept) -> None:
    space = prepare("cuda:sm_80", conv).supplemented[label]
    assert space.complete(refused) is None
    assert message in space.violations_of_part(refused)
    assert space.complete(kept) is not None


def test_the_reduction_tile_is_that_of_the_channels(prepare) -> None:
    """Emitted, it stands at the window's last loop: an uneven copy with three stages then seems even."""
    prepared = prepare("hip:gfx950", CHANNELS_FIRST)
    raw, space = prepared.emitted[DIRECT], prepared.supplemented[DIRECT]
    values = tiles("2 32 8 32", "1 1 2 1", ("red_4", 4), 512, mma=3) | {"prefetch_num_stages": 3}
    member = space.complete(values)
    assert member is not None
    config = space.configuration(member).ops[0].value
    assert "reduction = [0, 0, 0, 0, 4, 1, 1]" in config
    emitted = raw.complete({name: value for name, value in values.items() if "prefetch" not in name})
    assert emitted is not None
    assert "reduction = [0, 0, 0, 0, 1, 1, 4]" in raw.configuration(emitted).ops[0].value
    assert prepared.build(space, values)[0] == "ok"
    # What the emitted position stands for: channels with a tile of one instruction, which is uneven.
    assert space.complete(values | {"red_4": 1}) is None


@pytest.mark.parametrize(("target", "conv"), DEFAULTS, ids=str)
def test_the_compilers_choice_is_inside(prepare, target: str, conv: Conv) -> None:
    prepared = prepare(target, conv)
    dispatch = prepared.dispatch
    found = {
        label: find_default(space, Written.by_compiler(dispatch))
        for label, space in prepared.supplemented.items()
    }
    inside = [default.assignment for default in found.values() if default.assignment is not None]
    assert inside, {label: default.reasons for label, default in found.items()}


def test_channels_that_grow_are_wrong(prepare) -> None:
    """docs/upstream/cuda_padded_channels.md: 109 of 109 gave NaN, and none of the others."""
    space = prepare("cuda:sm_80", FOURTEEN).supplemented[IGEMM]
    for tile, allowed in ((2, {0, 32}), (3, {0}), (8, {0})):
        found = {pad for pad in (0, tile * 16) if space.complete({"red_6": tile, "pad_c": pad}) is not None}
        assert found == allowed, tile


def test_sampled(prepare) -> None:
    """A few of each space that has members, from shapes that no tile divides.

    Those that are unrolled most may compile for a minute: by default they are left to `--all`.
    """
    cases = (("hip:gfx942", FOURTEEN), ("cuda:sm_80", CHANNELS_FIRST))
    for target, conv in cases[: amount(1, 2)]:
        prepared = prepare(target, conv)
        for label, space in prepared.supplemented.items():
            members = space.sample(16, seed=3) if space.count() else []
            for member in sorted(members, key=unrolled)[: amount(1, 8)]:
                assert prepared.build(space, dict(member)) == ("ok", ""), (label, member)


def unrolled(member) -> int:
    """Tiles of one subgroup in a step of the reduction."""
    tiles = [name for name in member if name.startswith(("sg_", "red_")) and name != "sg_size"]
    return math.prod(member[name] for name in tiles)


def test_overpadded() -> None:
    assert [overpadded(size) for size in (7, 14, 32, 33, 56, 112, 128, 129)] == [
        7,
        14,
        32,
        64,
        64,
        128,
        128,
        256,
    ]


def test_every_supplement_says_why() -> None:
    assert len({each.name for each in CONVOLUTION_SUPPLEMENTS}) == len(CONVOLUTION_SUPPLEMENTS)
    assert all(each.reason and "3.13" in each.releases for each in CONVOLUTION_SUPPLEMENTS)
