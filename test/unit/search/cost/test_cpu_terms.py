"""Terms of the model for CPUs, each where it decides."""

from dataclasses import replace

import hand_made
import numpy as np
import pytest

from iree_tuner.ops.family import Chain
from iree_tuner.ops.workload import Companion
from iree_tuner.search.cost.cpu import chain_cycles, estimate, sums, tiles_of, traffic
from iree_tuner.search.cost.terms import body_instructions, keeps_order, operands_of
from iree_tuner.targets.machine import Machine

CPU = Machine("cpu", "a CPU", 2, 64, 32, 48 << 10, 1 << 20, 32 << 20)

SOFTMAX = """
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @dag(%x: tensor<4x8xf32>, %maxima: tensor<4xf32>, %sums: tensor<4xf32>) -> tensor<4xf32> {
  %4 = linalg.generic {indexing_maps = [#all, #rows, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x, %maxima : tensor<4x8xf32>, tensor<4xf32>) outs(%sums : tensor<4xf32>)
      attrs = {iree_tuner.label = "root"} {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %7 = arith.subf %in, %in_1 : f32
    %8 = math.exp %7 : f32
    %9 = arith.addf %8, %out : f32
    linalg.yield %9 : f32
  } -> tensor<4xf32>
  %6 = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%4 : tensor<4xf32>) attrs = {iree_tuner.label = "companion_0"} {
  ^bb0(%in: f32, %out: f32):
    %7 = arith.maxnumf %in, %out : f32
    linalg.yield %7 : f32
  } -> tensor<4xf32>
  return %6 : tensor<4xf32>
}
"""


def rows_reduced(rows, columns, dag="", kind="f32", companions=()):
    maps = ("(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)")
    return hand_made.workload(
        "generic", "reduction", (rows, columns), ("parallel", "reduction"), (kind, kind), maps,
        companions=companions, dag=dag,
    )  # fmt: skip


def matvec(rows, columns):
    maps = ("(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)", "(d0, d1) -> (d0)")
    return hand_made.workload(
        "contraction", "matvec", (rows, columns), ("parallel", "reduction"), ("f32",) * 3, maps,
        roles=(("batch", ()), ("m", (0,)), ("n", ()), ("k", (1,))),
    )  # fmt: skip


def knobs(*members):
    names = dict.fromkeys(name for member in members for name in member)
    return {name: np.array([member.get(name, 0) for member in members], float) for name in names}


def member(task, rows, columns, **rest):
    return {"distribution_0": task, "vector_0": rows, "vector_1": columns, **rest}


def found(workload, *members):
    return estimate(workload, knobs(*members), len(members), CPU)


def test_bodies_are_read_off_the_text():
    workload = rows_reduced(64, 128, SOFTMAX)
    assert body_instructions(workload, "root") == 14
    assert body_instructions(workload, "companion_0") == 1
    assert body_instructions(workload, "nobody") is None
    assert (keeps_order(workload, "root"), keeps_order(workload, "companion_0")) == (True, False)


@pytest.mark.parametrize(("kind", "ordered"), [("f32", True), ("bf16", True), ("i32", False)])
def test_without_text_only_sums_of_floats_keep_their_order(kind, ordered):
    assert keeps_order(rows_reduced(8, 8, kind=kind), "root") == ordered


def test_an_ordered_sum_is_one_chain_a_row_and_rows_overlap():
    rows, along = np.array([1.0, 8.0, 8.0]), np.array([64.0, 8.0, 300.0])
    work, chain = sums(rows, along, 16, 32, True, False)
    assert chain.tolist() == [64 * 4, 8 * 4, 8 * 300 * 4]  # 300 instructions ahead are one long row
    assert (work >= rows * along).all()
    folded, short = sums(rows, along, 16, 32, False, False)
    assert (folded[[0, 2]] < work[[0, 2]]).all()
    assert (short <= chain).all()


def test_rows_side_by_side_hide_the_latency_of_a_sum():
    cycles = found(rows_reduced(1024, 1024), member(64, 1, 16), member(64, 8, 16)).features["compute_cycles"]
    assert cycles[1] < cycles[0] / 2


def test_transpositions_that_the_compiler_knows_are_cheap():
    known, other = found(matvec(2048, 1024), member(128, 16, 16), member(128, 16, 32)).features[
        "compute_cycles"
    ]
    assert known < other / 2


def test_companions_that_do_not_fit_in_registers_go_through_memory():
    dag = SOFTMAX.replace("arith.maxnumf %in, %out", "math.exp %in")
    companion = Companion("companion_0", "elementwise", (64, 1024), ("parallel", "parallel"), (0, 1))
    workload = rows_reduced(64, 1024, dag, companions=(companion,))
    few, many = found(
        workload, member(32, 2, 64, companion_0_1=128), member(32, 2, 64, companion_0_1=1024)
    ).features["companion_cycles"]
    assert few < many


def test_a_companion_without_loops_costs_nothing_of_note():
    number = Companion("companion_0", "elementwise", (), (), ())
    workload = rows_reduced(64, 1024, companions=(number,))
    assert found(workload, member(32, 2, 64)).features["companion_cycles"].tolist() == [0.0]


def test_what_is_unrolled_too_far_is_expected_to_be_given_up():
    short, long = found(matvec(2048, 1024), member(512, 16, 16), member(512, 512, 64)).features["long_x"]
    assert (short, long > 2) == (1, True)


class TestUneven:
    def counted(self, *members):
        return found(matvec(2048, 1024), *members).features["ragged_x"].tolist()

    def test_cache_tiles_count_as_well(self):
        assert self.counted(member(64, 8, 16), member(64, 8, 16, cache_1=24)) == [1, 4]

    def test_steps_of_one_leave_nothing_over(self):
        assert self.counted(member(48, 1, 16), member(48, 8, 16)) == [1, 4]

    def test_peeling_leaves_only_the_rest(self):
        tiles = tiles_of(matvec(100, 64), knobs(member(30, 8, 16, cache_0=16)), 1)
        # Three tasks of 30 (a block of two vectors, and one of 14) and one of 10, of which one vector.
        assert tiles.covered.tolist() == [[(3 * (16 + 8) + 8) / 100, 1]]


class TestTraffic:
    def moved(self, workload, *members):
        tiles = tiles_of(workload, knobs(*members), len(members))
        return traffic(tiles, operands_of(workload), CPU)

    def test_rows_a_page_apart_push_each_other_out(self):
        """More rows than ways, and a part of a line at a time: the line comes again for each part."""
        some, many, whole = self.moved(
            matvec(2048, 1024), member(64, 8, 4), member(64, 16, 4), member(64, 16, 16)
        )[0]
        assert many - whole > 2 * 64 * 1024 * 4
        assert some < many

    def test_rows_that_are_no_multiple_of_a_page_apart_do_not(self):
        parts, whole = self.moved(matvec(2048, 1000), member(64, 16, 4), member(64, 16, 20))[0]
        assert parts == pytest.approx(whole, rel=0.3)

    def test_what_the_cache_holds_is_not_brought_again(self):
        maps = ("(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)")
        kinds = ("parallel", "parallel", "reduction")

        def through(depth):
            workload = hand_made.workload(
                "contraction", "matmul", (256, 64, depth), kinds, ("f32",) * 3, maps
            )
            tile = {"distribution_0": 128, "distribution_1": 64, "vector_0": 1, "vector_1": 64, "vector_2": 4}
            return self.moved(workload, tile)[0][0] / depth

        assert through(128) < through(512) / 10


class TestAttention:
    """Of 4 heads, 256 queries, 512 keys: `d0` batch, `d1` m, `d2` n, `d3` k1, `d4` k2."""

    def cycles(self, *tiles, machine=CPU):
        chain = Chain(rows=(0, 1), inner=(3,), keys=(4,), columns=(2,))
        task, vector = (np.array([each[part] for each in tiles], float) for part in (0, 1))
        return chain_cycles(chain, task, vector, 16, machine)

    def test_work_grows_with_the_task(self):
        vector = (1, 8, 16, 16, 16)
        one, keys, rows = self.cycles(
            ((1, 64, 64, 64, 512), vector), ((1, 64, 64, 64, 1024), vector), ((1, 128, 64, 64, 512), vector)
        )
        assert keys == rows == 2 * one

    def test_scores_are_computed_again_for_each_tile_of_columns(self):
        task = (1, 64, 64, 64, 512)
        whole, quarter = self.cycles((task, (1, 4, 64, 64, 16)), (task, (1, 4, 16, 64, 16)))
        assert whole < quarter

    def test_accumulators_that_registers_do_not_hold_cost_more(self):
        task = (1, 64, 64, 64, 512)
        tile = (task, (1, 32, 64, 64, 16))
        (many,), (few,) = (self.cycles(tile, machine=replace(CPU, registers=count)) for count in (256, 16))
        assert few > 1.5 * many
