"""What a pool holds of a space that has secondary options: tiles, each once."""

import gzip
import json

import hand_made
import numpy as np
from grid import Grid, at, bowl, play

from iree_tuner.compiler.context import new_context
from iree_tuner.search.cost.landscape import SpaceLandscape
from iree_tuner.search.replay.recorded import read_recording
from iree_tuner.search.sampled_space import Pool
from iree_tuner.search.strategy import make_strategy
from iree_tuner.space.build import build_spaces
from iree_tuner.space.joint import JointSpace
from iree_tuner.targets import GpuLimits
from iree_tuner.targets.machine import Machine

SM_80 = GpuLimits(
    "cuda", "sm_80", "+ptx76", (32,), shared_memory_bytes=166912, mma=("NV_MMA_SYNC_F32_16x8x16_F16",)
)
DIMS = "(d0, d1, d2, d3) -> "
MATMUL = hand_made.workload(
    "contraction",
    "batch_matmul",
    (2, 128, 128, 128),
    ("parallel", "parallel", "parallel", "reduction"),
    ("f16", "f16", "f32"),
    (f"{DIMS}(d0, d1, d3)", f"{DIMS}(d0, d3, d2)", f"{DIMS}(d0, d1, d2)"),
    (("batch", (0,)), ("m", (1,)), ("n", (2,)), ("k", (3,))),
)


class Optional(Grid):
    """A grid in which `y` is an option whose plain value is 0."""

    def is_plain(self, assignment):
        return assignment["y"] == 0

    def staged(self, seed):
        members = list(self.shuffled(seed))
        return iter(sorted(members, key=lambda member: member["y"] != 0))


def test_a_pool_draws_tiles_before_their_variants():
    pool = Pool(Optional(6), 0, size=6)
    assert {member["x"] for member in pool.members} == set(range(6))
    assert all(member["y"] == 0 for member in pool.members)
    pool.propose(pool.left())
    assert {pool.members[place]["y"] for place in pool.left()} & {1, 2, 3, 4, 5}


def test_a_pool_with_enough_tiles_has_no_variants(monkeypatch):
    monkeypatch.setattr("iree_tuner.search.sampled_space.ENOUGH", 6)
    pool = Pool(Optional(6), 0, size=20)
    assert {(member["x"], member["y"]) for member in pool.members} == {(x, 0) for x in range(6)}
    proposed = [member for _ in range(40) for member in pool.propose(pool.left()[:1])]
    assert len(proposed) == len(set(proposed)) == 36
    assert all(member["y"] == 0 for member in proposed[:6])


def test_a_pool_with_few_tiles_has_variants_too():
    assert len(Pool(Optional(6), 0, size=20).members) == 20


def test_a_start_that_is_a_variant_is_in_the_pool():
    pool = Pool(Optional(6), 0, size=6)
    assert pool.members[pool.place(at(3, 4))] == at(3, 4)
    assert at(3, 4) not in pool.propose(pool.left()[:6])


def test_strategies_come_to_the_variants_in_the_end():
    for name in ("analytic", "model"):
        seen = play(make_strategy(name, Optional(6), 1, at(2, 3)), bowl, 40)
        assert len(seen) == len(set(seen))
        assert {*seen, at(2, 3)} == set(Grid(6).sample(36, 0))


def test_a_spaces_landscape_is_staged():
    joint = JointSpace(build_spaces(MATMUL, SM_80, new_context()))
    landscape = SpaceLandscape(joint, Machine("gpu"))
    order = list(landscape.staged(4))
    plain = [landscape.is_plain(member) for member in order]
    assert len(order) == len(set(order)) == joint.count()
    assert plain == sorted(plain, reverse=True)
    assert 0 < sum(plain) < len(plain)
    pool = Pool(landscape, 4, size=64)
    assert pool.members == order[:64]
    assert all(map(landscape.is_plain, pool.members))


def test_a_recording_has_no_stages(tmp_path):
    knobs = [{"wg_0": tile, "waves_per_eu": waves} for tile in (1, 2, 4) for waves in (0, 1, 2)]
    header = {
        "recording": 1, "device": "none", "compiler": "3.13.0", "target": "cuda:sm_80", "op": "matmul",
        "lhs": "f16", "rhs": "f16", "result": "f32", "m": 64, "n": 64, "k": 64,
        "indexing_maps": ["(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)"],
    }  # fmt: skip
    line = {"outcome": "ok", "min_us": 2.0, "time_us": 2.0}
    lines = [header, {**line, "pipeline": None, "knobs": None}]
    lines += [{**line, "pipeline": "TileAndFuse", "knobs": each} for each in knobs]
    path = tmp_path / "small.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    space = read_recording(path)
    assert list(space.staged(3)) == list(space.shuffled(3))
    assert all(map(space.is_plain, space.members))
    assert np.isfinite(list(space.scores.values())).all()
