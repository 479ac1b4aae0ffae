"""What a Space answers."""

from __future__ import annotations

from dataclasses import replace

import hand_made
import pytest
from amounts import amount
from by_hand import emitted_space, space_of, unknown
from iree.compiler import ir
from space.made_workloads import conv, matmul, softmax

from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.space.build import build_space
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import require
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits


@pytest.fixture(scope="module")
def space(context: ir.Context) -> Space:
    return build_space(matmul(64, 48, 128), CpuLimits(), context)


def test_samples_are_distinct_legal_and_repeatable(space: Space) -> None:
    sample = space.sample(50, seed=3)
    assert len(set(sample)) == 50
    assert sample == space.sample(50, seed=3)
    assert sample != space.sample(50, seed=4)
    for member in sample[: amount(10, 50)]:
        assert space.contains(member)
        assert not space.violations(member)


def test_a_sample_is_never_larger_than_the_space(context: ir.Context) -> None:
    small = build_space(matmul(1, 2, 2), CpuLimits(), context)
    assert set(small.sample(1000, seed=0)) == set(small.enumerate())


def test_an_op_without_loops_has_no_space(context: ir.Context) -> None:
    scalar = replace(matmul(64, 48, 128), family="generic", loops=(), iterators=(), roles=())
    with pytest.raises(TunerError, match="it has no loops"):
        build_space(scalar, CpuLimits(), context)


def one_move_away(members: list[Assignment], here: Assignment, follow: set[str]) -> set[Assignment]:
    """What `neighbors` must find, from all members: for each knob, the nearest on either side."""
    found: set[Assignment] = set()
    for name in here.keys() - follow:
        others = here.keys() - follow - {name}
        line = [member for member in members if all(member[other] == here[other] for other in others)]
        found.update(sorted((m for m in line if m[name] < here[name]), key=lambda m: m[name])[-1:])
        found.update(sorted((m for m in line if m[name] > here[name]), key=lambda m: m[name])[:1])
    return found


def test_neighbors_are_the_nearest_legal_values_of_one_knob(space: Space) -> None:
    here = space.sample(1, seed=0)[0]
    expected: list[Assignment] = []
    for each in space.knobs:
        value = here[each.name]
        legal = [v for v in each.values if v != value and space.contains({**here, each.name: v})]
        steps = [v for v in legal if v < value][-1:] + [v for v in legal if v > value][:1]
        expected.extend(Assignment.of({**here, each.name: step}) for step in steps)
    assert expected
    assert space.neighbors(here) == expected


def test_knobs_that_equal_an_expression_follow_a_move() -> None:
    """Subgroups are counted by unknowns, and the workgroup's size follows from their number."""
    emitted = emitted_space()
    members = list(emitted.enumerate())
    resized = False
    for here in emitted.sample(10, seed=1):
        found = emitted.neighbors(here)
        assert set(found) == one_move_away(members, here, {"wg_size_x"})
        resized |= any(there["wg_size_x"] != here["wg_size_x"] for there in found)
    assert resized


def test_neighbors_with_unknowns_that_nothing_determines() -> None:
    def fill() -> None:
        a, b = knob("a", range(1, 13), "listed"), knob("b", range(3), "listed")
        x, y = unknown((1, 2, 5)), unknown((1, 2, 3))
        require(a.equals(x * y + b), "some x and y")

    space = space_of(fill, ("a", "b"))
    members = list(space.enumerate())
    assert len(members) > 10
    for here in members:
        assert set(space.neighbors(here)) == one_move_away(members, here, set())


def test_neighbors_of_what_is_outside_lead_back(space: Space) -> None:
    here = space.sample(1, seed=0)[0]
    values = next(each.values for each in space.knobs if each.name == "vector_0")
    outside = max(values) + 1
    legal = [value for value in values if space.contains({**here, "vector_0": value})]
    found = space.neighbors({**here, "vector_0": outside})
    assert found == [Assignment.of({**here, "vector_0": legal[-1]})]
    assert space.neighbors({**here, "vector_0": outside, "vector_1": max(values) + 1}) == []


def test_violations_say_why(space: Space) -> None:
    legal = space.sample(1, seed=0)[0]
    large = Assignment.of(dict(legal) | {"vector_0": 64, "distribution_0": 64, "vector_1": 48,
                                         "distribution_1": 48, "vector_2": 128})  # fmt: skip
    assert not space.contains(large)
    assert any("1572864 bytes must stay below 8192" in reason for reason in space.violations(large))
    wide = Assignment.of(dict(legal) | {"vector_0": 8, "distribution_0": 4})
    assert "vector_0 (8) must not exceed distribution_0 (4)" in space.violations(wide)
    assert space.violations({"vector_0": 8})[0].startswith("no value for the knob")
    assert "unknown knob 'x'" in space.violations({**legal, "x": 1})
    assert not space.contains({**legal, "x": 1})


def test_long_scalar_reductions_are_excluded(context: ir.Context) -> None:
    row = build_space(matmul(1, 64, 4096), CpuLimits(native_vector_bytes=64), context)
    slow = {"vector_1": 1, "distribution_1": 4, "vector_2": 4096, "enable_loop_peeling": 0,
            "cache_1": 0, "cache_2": 0}  # fmt: skip
    assert row.violations(slow) == [
        "a reduction of 4096 elements to one is unrolled into scalars, and compiles for too long",
        "a tile of 4096 vector multiplications compiles for too long: at most 512 are unrolled",
    ]
    assert row.contains(slow | {"vector_2": 512})


def test_encoding_has_a_number_a_knob(space: Space) -> None:
    assert space.encode(space.sample(1, seed=0)[0]).shape == (len(space.knobs),)


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (matmul(64, 48, 128), "DoubleTilingExpert"),
        (conv(8, 8, 4), "ConvTileAndDecomposeExpert"),
        (softmax(8, 16), "DoubleTilingExpert"),
    ],
    ids=lambda value: value.name if isinstance(value, Workload) else "",
)
def test_configurations_parse(workload: Workload, expected: str, context: ir.Context) -> None:
    built = build_space(workload, CpuLimits(), context)
    configuration = built.configuration(built.sample(1, seed=0)[0])
    assert f"#iree_cpu.pipeline<{expected}>" in configuration.ops[0].value
    assert [op.label for op in configuration.ops[1:]] == [each.label for each in workload.companions]
    for op in configuration.ops:
        assert str(ir.Attribute.parse(op.value, context)) == op.value


def test_companions_are_tiled_as_the_compiler_does(context: ir.Context) -> None:
    built = build_space(softmax(128, 256), CpuLimits(), context)
    chosen = {"vector_0": 8, "vector_1": 16, "distribution_0": 16, "enable_loop_peeling": 0,
              "companion_0_1": 16, "companion_1_1": 16, "cache_0": 0, "cache_1": 0}  # fmt: skip
    assert built.contains(chosen)
    _, maximum, normalize = built.configuration(chosen).ops
    assert "vector_common_parallel = [8, 0], vector_reduction = [0, 16]" in maximum.value
    assert "vector_common_parallel = [8, 0], vector_inner_parallel = [0, 16]" in normalize.value


def test_a_missing_knob_is_an_error(space: Space) -> None:
    with pytest.raises(TunerError, match="no value for vector_0"):
        space.configuration({})


def test_an_unknown_family_is_an_error(context: ir.Context) -> None:
    workload = hand_made.workload("sorting", "sort", (4,), ("parallel",), ("f32",), ())
    with pytest.raises(TunerError, match="no search space on llvm-cpu for the op family 'sorting'"):
        build_space(workload, CpuLimits(), context)


def test_cache_tiles_lie_between_the_others_on_one_loop(context: ir.Context) -> None:
    built = build_space(matmul(64, 64, 128), CpuLimits(), context)
    plain = {"distribution_0": 32, "distribution_1": 32, "vector_0": 4, "vector_1": 8, "vector_2": 8,
             "cache_0": 0, "cache_1": 0, "cache_2": 0, "enable_loop_peeling": 0}  # fmt: skip
    assert built.contains(plain)
    assert "cache" not in built.configuration(plain).ops[0].value
    blocked = plain | {"cache_2": 64}
    assert built.contains(blocked)
    assert "cache_reduction = [0, 0, 64]" in built.configuration(blocked).ops[0].value
    wide = build_space(matmul(512, 512, 128), CpuLimits(native_vector_bytes=64), context)
    large = blocked | {"distribution_0": 128, "distribution_1": 64}
    assert wide.violations(large) == [
        "with cache_2, the initial value of 32768 bytes must stay below 32768 (large vector check)"
    ]
    assert wide.contains(large | {"distribution_1": 32})
    for wrong in ({"cache_0": 4}, {"cache_0": 64}, {"cache_0": 16, "cache_2": 64}):
        assert built.violations(plain | wrong)


def test_pipelines_that_ignore_cache_tiles_have_no_knobs_for_them(context: ir.Context) -> None:
    assert not [name for name in build_space(conv(8, 8, 4), CpuLimits(), context).names if "cache" in name]
