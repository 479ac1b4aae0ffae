"""The order of the estimates on recordings of an H100 (docs/search.md says which were looked at before)."""

from pathlib import Path

import numpy as np
import pytest
from space.made_workloads import conv, matmul

from iree_tuner.search.cost.gpu import estimate
from iree_tuner.search.cost.landscape import ESTIMATE, Encoder
from iree_tuner.search.replay.recorded import read_recording
from iree_tuner.targets.machine import Machine

RECORDINGS = Path(__file__).parents[4] / "recordings" / "cuda" / "h100"
GPU = Machine("gpu", "a GPU", 132, 16, 65536, 228 << 10, 0, 50 << 20)
PLAN = {"mma_idx": 0, "sg_size": 32, "wg_size_x": 128}


def columns(**knobs):
    return {name: np.array([value], float) for name, value in (PLAN | knobs).items()}


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.jsonl.gz")), ids=lambda path: path.name)
def test_one_of_the_first_sixteen_is_within_ten_percent_of_the_best(path):
    space = read_recording(path)
    rows = space.encoder.encode(space.members)
    order = np.argsort(rows[:, space.features.index(ESTIMATE)], kind="stable")
    first = [space.members[place] for place in order[:16]]
    assert min(space.times_us.get(each, np.inf) for each in first) <= 1.1 * space.best_us


def test_a_convolution_is_a_product_of_its_pixels():
    """One by eight by sixteen pixels are 128 rows. The window has nine positions of 64 channels."""
    image = conv(32, 32, 64)
    tiles = columns(wg_0=1, wg_1=8, wg_2=16, wg_3=64, sg_1=2, sg_2=1, sg_3=4, red_6=2)
    found = estimate(image, tiles, np.zeros(1), GPU)
    product = matmul(1024, 64, 576)
    same = estimate(product, columns(wg_0=128, wg_1=64, sg_0=2, sg_1=4, red_2=2), np.zeros(1), GPU)
    for name in ("tile_m", "tile_n", "steps", "groups", "matrix_cycles", "resident"):
        assert found.features[name] == same.features[name]


@pytest.mark.parametrize(
    ("names", "kind"),
    [(("wg_3", "mma_idx"), "gpu_matrix"), (("wg_3", "th_3", "red_6"), "gpu_threads"), (("wg_3",), "knobs")],
)
def test_kinds_of_convolutions(names, kind):
    assert Encoder(conv(16, 16, 32), "TileAndFuse", names, GPU).kind == kind
