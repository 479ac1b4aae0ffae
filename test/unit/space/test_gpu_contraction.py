"""What supplements take out of the compiler's contraction spaces does not compile; what they keep does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest
from amounts import ALL, some
from contractions import Matmul, prepared, replacing

from iree_tuner.space.gpu.contraction import CONTRACTION_SUPPLEMENTS
from iree_tuner.space.space import Space

TILES, VECTORS = "TileAndFuse", "VectorDistribute"
ADDED = Matmul(accumulate=True)
UNALIGNED = Matmul(m=500, k=300)
HALF = Matmul(result="f16")
THREES = Matmul(384, 384, 384)

BASE = {"mma_idx": 0, "prefetch_num_stages": 2}
PLAIN = {"no_reduce_shared_memory_bank_conflicts": 0, "reorder_workgroups_strategy": 0}
"""What the emitter pins or leaves out, as values of the knobs that supplements make of it."""


@dataclass(frozen=True)
class Refusal:
    """An assignment of the emitted space that the compiler refuses, why, and a neighbor that stays.

    Attributes:
        refused: values of the emitted op's knobs.
        error: what the compiler says about it.
        message: what the supplemented space says about it.
        changed: in the neighbor.
    """

    supplement: str
    target: str
    program: Matmul
    label: str
    refused: dict[str, int]
    error: str
    message: str
    changed: dict[str, int]


def tiles(wg: tuple[int, int], sg: tuple[int, int], red: int, threads: int) -> dict[str, int]:
    """An assignment of TileAndFuse."""
    return BASE | {
        "wg_0": wg[0],
        "wg_1": wg[1],
        "sg_0": sg[0],
        "sg_1": sg[1],
        "red_2": red,
        "wg_size_x": threads,
    }


def vectors(wg: tuple[int, int], red: int, subgroups: tuple[int, int], threads: int) -> dict[str, int]:
    """An assignment of VectorDistribute."""
    return BASE | {
        "wg_0": wg[0],
        "wg_1": wg[1],
        "red_2": red,
        "sg_m_cnt": subgroups[0],
        "sg_n_cnt": subgroups[1],
        "wg_size_x": threads,
    }


REFUSALS = [
    Refusal(
        "result type",
        "hip:gfx1100",
        HALF,
        TILES,
        tiles((16, 64), (1, 2), 2, 64),
        "write affecting operations on shared resources",
        "instruction 0 must accumulate in f16, the type of the result",
        {"mma_idx": 1},
    ),
    Refusal(
        "result type",
        "hip:gfx1100",
        HALF,
        VECTORS,
        vectors((16, 128), 16, (1, 2), 64),
        "failed to distribute",
        "instruction 0 must accumulate in f16, the type of the result",
        {"mma_idx": 1},
    ),
    Refusal(
        "accumulator in shared memory",
        "hip:gfx942",
        ADDED,
        TILES,
        tiles((128, 64), (8, 4), 8, 64),
        "uses 81920 bytes of shared memory; exceeded the limit of 65536 bytes",
        "the operands and the accumulator take 81920 of 65536 bytes of shared memory",
        {"red_2": 4},
    ),
    Refusal(
        "thread layout",
        "cuda:sm_80",
        THREES,
        VECTORS,
        vectors((128, 96), 32, (1, 4), 128),
        "failed to derive layout for promoted read-like op",
        "the right operand: no thread layout can be derived for a tile whose innermost size is 96 with 128",
        {"wg_1": 64},
    ),
    Refusal(
        "thread layout",
        "cuda:sm_80",
        THREES,
        VECTORS,
        vectors((16, 64), 96, (1, 2), 64),
        "failed to derive layout for promoted read-like op",
        "the left operand: no thread layout can be derived for a tile whose innermost size is 96 with 64",
        {"red_2": 64},
    ),
]

REPAIRS = [
    ("padding", "hip:gfx942", UNALIGNED, tiles((128, 128), (4, 2), 1, 512), "op was not bufferized"),
    ("padding", "cuda:sm_80", UNALIGNED, tiles((64, 64), (2, 4), 1, 128), "op was not bufferized"),
    (
        "accumulator added afterwards",
        "cuda:sm_80",
        ADDED,
        tiles((128, 16), (2, 2), 1, 128),
        "failed to bufferize op",
    ),
]
"""Members that fail as the emitter has them, and compile with what the supplement adds to them."""


@pytest.fixture(scope="module")
def prepare(compilers):
    return partial(prepared, compilers)


def as_emitted(space: Space, values: dict[str, int]) -> dict[str, int]:
    """The values, with those of knobs that the supplements add: as the emitter has them."""
    return values | {name: PLAIN[name] for name in space.names if name in PLAIN}


@pytest.mark.parametrize(
    "case", some(REFUSALS, 3), ids=lambda case: f"{case.supplement}-{case.label}-{case.refused['red_2']}"
)
def test_refused(prepare, case: Refusal) -> None:
    found = prepare(case.target, case.program)
    ended = found.build(found.emitted[case.label], case.refused)
    assert ended.outcome == "compile_error"
    assert case.error in ended.message
    space = found.supplemented[case.label]
    assert space.complete(case.refused) is None
    failing = space.violations_of_part(case.refused)
    assert len(failing) == 1
    assert case.message in failing[0]
    neighbor = as_emitted(space, case.refused | case.changed)
    assert found.build(space, neighbor).outcome == "ok"


@pytest.mark.parametrize(
    ("supplement", "target", "program", "values", "error"),
    some(REPAIRS, 3),  # an accumulator is added afterwards in test_gpu_convolution, too
    ids=[f"{supplement}-{target}" for supplement, target, *_ in some(REPAIRS, 3)],
)
def test_repaired(
    prepare, supplement: str, target: str, program: Matmul, values: dict[str, int], error: str
) -> None:
    found = prepare(target, program)
    ended = found.build(found.emitted[TILES], values)
    assert ended.outcome == "compile_error"
    assert error in ended.message
    space = found.supplemented[TILES]
    repaired = found.build(space, as_emitted(space, values))
    assert (repaired.outcome, repaired.message) == ("ok", "")


def test_no_instruction_gives_the_result_its_type(prepare) -> None:
    """On gfx942 every instruction accumulates in f32: what was emitted is no space for f16."""
    found = prepare("hip:gfx942", HALF)
    for label, values, error in (
        (TILES, tiles((32, 128), (2, 2), 8, 256), "write affecting operations on shared resources"),
        (VECTORS, vectors((256, 32), 32, (2, 1), 128), "failed to distribute"),
    ):
        ended = found.build(found.emitted[label], values)
        assert (ended.outcome, error in ended.message) == ("compile_error", True), ended
    assert all("mma_idx" not in space.names for space in found.supplemented.values())


def test_tiles_that_need_not_divide(prepare) -> None:
    """The emitter's divide the padded size, here 512 x 512 x 304; padding makes others whole as well."""
    found = prepare("hip:gfx942", UNALIGNED)
    space = found.supplemented[TILES]
    alone = (tiles((96, 128), (3, 4), 1, 256), tiles((128, 128), (4, 2), 4, 512))
    for values in (*alone, tiles((96, 128), (3, 4), 4, 256)):  # 96 of 512, and 64 of 304 at a time
        assert found.emitted[TILES].complete(values) is None
        if ALL or values not in alone:
            assert found.build(space, values).outcome == "ok"
    unusual = space.violations_of_part(tiles((112, 128), (7, 2), 1, 256))
    assert unusual == ["wg_0 (112) must divide the padded size, or be a usual tile"]


def test_aligned_sizes_are_not_padded(prepare) -> None:
    assert "pad_k" not in prepare("hip:gfx942").supplemented[TILES].names


def test_accumulators_fit_the_registers(prepare) -> None:
    """About compile time and spilling: the refused one compiles, in half a minute, so none is compiled."""
    found = prepare("cuda:sm_80")
    refused = tiles((512, 128), (8, 16), 1, 128)
    assert found.emitted[TILES].complete(refused) is not None
    space = found.supplemented[TILES]
    assert space.complete(refused) is None
    assert space.violations_of_part(refused) == ["the accumulators take 512 of 256 registers of a thread"]
    kept = refused | {"wg_0": 256, "sg_0": 4}
    assert space.complete(kept) is not None


def test_cdna_has_twice_the_registers(prepare) -> None:
    values = tiles((256, 128), (16, 4), 1, 64)
    assert prepare("hip:gfx942").supplemented[TILES].complete(values | {"wg_size_x": 128}) is not None
    rdna = prepare("hip:gfx1100").supplemented[TILES].violations_of_part(values)
    assert "the accumulators take 512 of 256 registers of a thread" in rdna


UNEVEN = tiles((16, 128), (1, 1), 1, 512) | {"prefetch_num_stages": 3}


def test_uneven_copies_crash(prepare) -> None:
    """16x16 halves for 512 threads: with three stages the worker dies, with two it is fine."""
    found = prepare("hip:gfx942")
    ended = found.build(
        found.emitted[TILES],
        UNEVEN | {"prefetch_num_stages": 2},
        replacing("prefetch_num_stages = 2", "prefetch_num_stages = 3"),
    )
    assert ended.outcome in ("compile_crash", "compile_error")  # of freed memory: not the same each time
    space = found.supplemented[TILES]
    assert space.complete(UNEVEN) is None
    assert space.violations_of_part(UNEVEN) == [
        "with three prefetch stages, 512 threads must share each operand's tile evenly"
    ]
    for changed in ({"prefetch_num_stages": 2}, {"red_2": 2}):
        assert found.build(space, UNEVEN | changed).outcome == "ok"


def test_every_supplement_says_why() -> None:
    names = [each.name for each in CONTRACTION_SUPPLEMENTS]
    assert len(set(names)) == len(names)
    assert all(each.reason and "3.13" in each.releases for each in CONTRACTION_SUPPLEMENTS)
