"""Options are opened where they change the code, and only there. Compiles for GPUs; needs none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest
from amounts import ALL, some
from contractions import Edit, Matmul, prepared, replacing, unchanged

TILES, VECTORS = "TileAndFuse", "VectorDistribute"
SQUARE = Matmul()
MEMBERS = {
    TILES: {
        "mma_idx": 0,
        "wg_0": 64,
        "wg_1": 128,
        "sg_0": 2,
        "sg_1": 4,
        "red_2": 2,
        "prefetch_num_stages": 2,
    },
    VECTORS: {
        "mma_idx": 0,
        "wg_0": 64,
        "wg_1": 128,
        "red_2": 32,
        "sg_m_cnt": 2,
        "sg_n_cnt": 1,
        "prefetch_num_stages": 2,
    },
}
"""Members of every target's spaces for 512 x 512 x 512."""

PINNED = {
    "prefetch_num_stages": 2,
    "no_reduce_shared_memory_bank_conflicts": 0,
    "reorder_workgroups_strategy": 0,
    "flush_denormals": 0,
    "waves_per_eu": 0,
}
"""What the emitter sets or leaves out, as values of the knobs."""


@dataclass(frozen=True)
class Opened:
    """A knob, and values of it that each give different code."""

    supplement: str
    target: str
    label: str
    knob: str
    values: tuple[int, ...]


OPENED = [
    Opened("prefetch", "hip:gfx942", TILES, "prefetch_num_stages", (0, 2, 3)),
    Opened("prefetch", "hip:gfx942", VECTORS, "prefetch_num_stages", (0, 2, 3)),
    Opened("prefetch", "hip:gfx1100", TILES, "prefetch_num_stages", (0, 2, 3)),
    Opened("bank conflicts", "hip:gfx942", TILES, "no_reduce_shared_memory_bank_conflicts", (0, 1)),
    Opened("bank conflicts", "cuda:sm_80", TILES, "no_reduce_shared_memory_bank_conflicts", (0, 1)),
    Opened("bank conflicts", "cuda:sm_80", VECTORS, "no_reduce_shared_memory_bank_conflicts", (0, 1)),
    Opened("workgroup order", "hip:gfx942", VECTORS, "reorder_workgroups_strategy", (0, 1)),
    Opened("workgroup order", "cuda:sm_80", VECTORS, "reorder_workgroups_strategy", (0, 1)),
    Opened("denormals", "hip:gfx942", TILES, "flush_denormals", (0, 1)),
    Opened("denormals", "hip:gfx1100", VECTORS, "flush_denormals", (0, 1)),
]

FLUSH = replacing(
    "{gpu_pipeline_options",
    '{iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">, '
    "gpu_pipeline_options",
)
TRANSPOSE = replacing(
    "use_igemm_convolution = ", "reorder_workgroups_strategy = <Transpose>, use_igemm_convolution = "
)


def stages(number: int) -> Edit:
    return replacing("prefetch_num_stages = 2", f"prefetch_num_stages = {number}")


def waves(number: int) -> Edit:
    wish = f'{{llvm_func_attrs = {{"amdgpu-waves-per-eu" = "{number}"}}, gpu_pipeline_options'
    return replacing("{gpu_pipeline_options", wish)


DEAD = [
    ("cuda:sm_80", TILES, "no prefetching", stages(0)),
    ("cuda:sm_80", TILES, "three stages", stages(3)),
    ("cuda:sm_80", VECTORS, "no prefetching", stages(0)),
    ("cuda:sm_80", VECTORS, "three stages", stages(3)),
    ("cuda:sm_80", TILES, "flushing", FLUSH),
    ("cuda:sm_80", VECTORS, "flushing", FLUSH),
    ("cuda:sm_80", TILES, "order", TRANSPOSE),
    ("hip:gfx942", TILES, "order", TRANSPOSE),
    ("hip:gfx942", TILES, "one wave", waves(1)),
]
"""Edits of a configuration that change nothing. The test that follows shows that they are no mistakes."""

LIVE = [
    ("hip:gfx942", VECTORS, "order", TRANSPOSE),
    # These are live in test_opened and test_waves, too.
    ("hip:gfx942", TILES, "no prefetching", stages(0)),
    ("hip:gfx942", TILES, "flushing", FLUSH),
    ("hip:gfx942", TILES, "four waves", waves(4)),
]
"""The same edits where they change the code."""

HUNGRY = {"wg_0": 128, "wg_1": 256, "sg_0": 2, "sg_1": 16, "red_2": 1}
"""256 threads with 128 accumulators each, and little shared memory: four waves must save registers."""

HUNGRIER = {"wg_0": 128, "wg_1": 512, "sg_0": 2, "sg_1": 32, "red_2": 1}
"""Twice the accumulators, which leave room for one wave; shared memory leaves none for four."""


def names(cases: list[tuple[str, str, str, Edit]]) -> list[str]:
    return ["-".join(case[:3]) for case in cases]


@pytest.fixture(scope="module")
def prepare(compilers):
    return partial(prepared, compilers)


@pytest.mark.parametrize(
    "case", some(OPENED, 4), ids=lambda case: f"{case.supplement}-{case.target}-{case.label}"
)
def test_opened(prepare, case: Opened) -> None:
    found = prepare(case.target)
    emitted, space = found.emitted[case.label], found.supplemented[case.label]
    member = MEMBERS[case.label] | {name: value for name, value in PINNED.items() if name in space.names}
    if case.knob in emitted.names:
        assert {case.knob: emitted.complete(MEMBERS[case.label])[case.knob]} == {case.knob: 2}
        opened = [value for value in case.values if value != 2]
        assert all(emitted.complete(MEMBERS[case.label] | {case.knob: value}) is None for value in opened)
    built = [found.build(space, member | {case.knob: value}) for value in case.values]
    assert [each.outcome for each in built] == ["ok"] * len(built)
    assert len({each.digest for each in built}) == len(built)
    # The emitter's choice is still there, and is the same code.
    pinned = built[case.values.index(PINNED[case.knob])]
    assert found.build(emitted, MEMBERS[case.label]).digest == pinned.digest


@pytest.mark.parametrize(
    ("waves", "tiles"),
    [pytest.param(1, HUNGRIER, marks=pytest.mark.exhaustive), (2, HUNGRY)],
    ids=["two", "four"],
)
def test_waves(prepare, waves: int, tiles: dict[str, int]) -> None:
    """A wish for more waves than fit otherwise changes the code; which wish does depends on the tiles."""
    found = prepare("hip:gfx942")
    emitted, space = found.emitted[TILES], found.supplemented[TILES]
    assert "waves_per_eu" not in emitted.names
    member = {name: value for name, value in PINNED.items() if name in space.names} | MEMBERS[TILES] | tiles
    none, some = (found.build(space, member | {"waves_per_eu": value}) for value in (0, waves))
    assert (none.outcome, some.outcome) == ("ok", "ok")
    assert none.digest != some.digest
    if ALL:  # without a wish it is the emitter's code: by default in test_opened
        assert found.build(emitted, MEMBERS[TILES] | tiles).digest == none.digest


@pytest.mark.parametrize(("target", "label", "what", "edit"), some(DEAD, 4), ids=names(some(DEAD, 4)))
def test_dead(prepare, target: str, label: str, what: str, edit: Edit) -> None:
    found = prepare(target)
    member = MEMBERS[label] | (HUNGRY if what == "one wave" else {})
    plain, edited = (found.build(found.emitted[label], member, each) for each in (unchanged, edit))
    assert (plain.outcome, edited.outcome) == ("ok", "ok"), edited.message
    assert plain.digest == edited.digest


@pytest.mark.parametrize(("target", "label", "what", "edit"), some(LIVE, 4), ids=names(some(LIVE, 4)))
def test_the_same_edits_elsewhere(prepare, target: str, label: str, what: str, edit: Edit) -> None:
    found = prepare(target)
    member = MEMBERS[label] | (HUNGRY if what == "four waves" else {})
    plain, edited = (found.build(found.emitted[label], member, each) for each in (unchanged, edit))
    assert (plain.outcome, edited.outcome) == ("ok", "ok"), edited.message
    assert plain.digest != edited.digest


def test_dead_knobs_have_one_value(prepare) -> None:
    for label in (TILES, VECTORS):
        space = prepare("cuda:sm_80").supplemented[label]
        assert {"flush_denormals", "waves_per_eu"}.isdisjoint(space.names)
        values = {knob.name: knob.values for knob in space.knobs}
        assert values["prefetch_num_stages"] == (2,)
        refused = space.violations_of_part({"prefetch_num_stages": 3})
        assert refused == ["prefetch_num_stages (3) must be 2: it changes nothing on this target"]
    for target in ("cuda:sm_80", "hip:gfx942"):
        assert "reorder_workgroups_strategy" not in prepare(target).supplemented[TILES].names
