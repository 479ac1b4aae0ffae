"""Encoders: rows of numbers that mean the same everywhere."""

import numpy as np
import pytest
from search.replay.recordings import NAMES, small
from space.made_workloads import conv, matmul, softmax

from iree_tuner.search.cost.landscape import ESTIMATE, Encoder
from iree_tuner.space.configuration import Assignment
from iree_tuner.targets.machine import Machine

CPU = Machine("cpu", "a CPU", 4, 32, 16, 32 << 10, 1 << 20, 32 << 20)
GPU = Machine("gpu", "a GPU", 108, 16, 65536, 164 << 10, 0, 40 << 20)
TILES = ("distribution_0", "distribution_1", "vector_0", "vector_1", "vector_2")
MATRIX = ("wg_0", "wg_1", "red_2", "mma_idx", "sg_0", "sg_1", "wg_size_x", "sg_size")


def tiles(*values):
    return Assignment.of(dict(zip(TILES, values, strict=True)))


@pytest.fixture(scope="module", params=NAMES)
def space(request):
    return small(request.param)


def test_estimates_have_words_for_each_term(space):
    estimate = space.encoder.estimate(space.members)
    assert estimate.cycles.shape == (len(space.members),)
    assert np.isfinite(estimate.cycles).all()
    assert (estimate.cycles > 0).all()
    for term in estimate.terms:
        assert term.unit in ("cycles", "x")
        assert term.value.shape == estimate.cycles.shape
        for row in (0, len(space.members) - 1):
            numbers = {name: float(column[row]) for name, column in estimate.features.items()}
            assert term.why.format_map(numbers).strip()
    assert len({term.name for term in estimate.terms}) == len(estimate.terms)


def test_the_estimate_is_a_feature(space):
    rows = space.encoder.encode(space.members)
    estimate = space.encoder.estimate(space.members)
    column = rows[:, space.features.index(ESTIMATE)]
    assert column == pytest.approx(np.log2(estimate.cycles), abs=1e-6)
    assert len(set(space.features)) == len(space.features)


def test_rows_are_rounded_so_that_processors_agree(space):
    rows = space.encoder.encode(space.members)
    assert (rows == np.round(rows, 6)).all()


def test_a_row_depends_on_its_assignment_alone(space):
    encoder, members = space.encoder, space.members
    rows = encoder.encode(members)
    assert (encoder.encode(members[::-1]) == rows[::-1]).all()
    assert (encoder.encode(members[3:4]) == rows[3:4]).all()


def test_no_assignments_are_no_rows(space):
    assert space.encoder.encode([]).shape == (0, len(space.features))


@pytest.mark.parametrize(
    ("workload", "machine", "names", "kind"),
    [
        (matmul(64, 48, 128), CPU, TILES, "cpu"),
        (softmax(64, 128), CPU, TILES[:2], "cpu"),
        (conv(16, 16, 32), CPU, TILES, "cpu"),
        (matmul(64, 48, 128, "f16"), GPU, MATRIX, "gpu_matrix"),
        (softmax(64, 128), GPU, ("wg_0",), "knobs"),
    ],
)
def test_kinds(workload, machine, names, kind):
    encoder = Encoder(workload, "Any", names, machine)
    assert encoder.kind == kind
    assert (ESTIMATE in encoder.features) == (kind != "knobs")
    row = encoder.encode([Assignment.of(dict.fromkeys(names, 8))])
    assert np.isfinite(row).all()


def test_where_there_is_no_model_the_knobs_are_the_features():
    encoder = Encoder(softmax(64, 128), "Any", ("a", "b"), GPU)
    assert encoder.features == ("a", "b")
    assert encoder.estimate([Assignment.of({"a": 3})]) is None
    assert encoder.encode([Assignment.of({"a": 3})]).tolist() == [[2.0, 0.0]]


@pytest.mark.parametrize("workload", [matmul(64, 48, 128), softmax(64, 128), conv(16, 16, 32)])
def test_features_of_a_kind_do_not_depend_on_the_workload(workload):
    expected = Encoder(matmul(8, 8, 8), "Any", TILES, CPU).features
    assert Encoder(workload, "Other", ("distribution_0",), CPU).features == expected


def test_estimates_follow_first_principles():
    encoder = Encoder(matmul(512, 512, 512), "Any", TILES, CPU)
    good, tiny, huge, few = encoder.estimate(
        [
            tiles(128, 128, 4, 16, 1),
            tiles(128, 128, 1, 1, 1),  # no vectors
            tiles(128, 128, 64, 128, 1),  # far more than the registers hold
            tiles(512, 512, 4, 16, 1),  # one task for four cores
        ]
    ).cycles
    assert good < tiny
    assert good < huge
    assert good < few
