"""Forests: against trees walked by hand, and against scikit-learn."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search.replay.recordings import small, stump

from iree_tuner.search.cost.forest import Forest, guess

FEATURES = ("a", "b", "c")
RECORDED = Path(__file__).parents[4] / "recordings" / "cuda"
near = st.integers(-4, 4).map(lambda number: number / 4)
trees = st.recursive(near, lambda child: st.tuples(st.integers(0, 2), near, child, child), max_leaves=12)


def planted(forest):
    """Trees as nested tuples, laid out as arrays."""
    nodes, roots = [], []

    def lay(tree):
        place = len(nodes)
        nodes.append(None)
        if not isinstance(tree, tuple):
            nodes[place] = (-1, 0.0, 0, 0, tree)
            return place
        column, limit, low, high = tree
        nodes[place] = (column, limit, lay(low), lay(high), 0.0)
        return place

    roots = [lay(tree) for tree in forest]
    column, limit, left, right, value = zip(*nodes, strict=True)
    return Forest(
        FEATURES, np.array(roots, np.int32), np.array(column, np.int16), np.array(limit, np.float32),
        np.array(left, np.int32), np.array(right, np.int32), np.array(value, np.float32), ("x 1", "y 2"),
    )  # fmt: skip


def walked(tree, row):
    while isinstance(tree, tuple):
        column, limit, low, high = tree
        tree = low if row[column] <= limit else high
    return tree


@settings(deadline=None)
@given(st.lists(trees, min_size=1, max_size=4), st.lists(st.tuples(near, near, near), min_size=1, max_size=9))
def test_a_forest_is_the_mean_of_its_trees(forest, rows):
    expected = [sum(walked(tree, row) for tree in forest) / len(forest) for row in rows]
    assert planted(forest).predict(np.array(rows)) == pytest.approx(expected)


def test_no_rows_have_no_values():
    assert stump(FEATURES, "a", 0.0, 1.0, 2.0).predict(np.zeros((0, 3))).shape == (0,)


@settings(max_examples=10, deadline=None)
@given(st.lists(trees, min_size=1, max_size=4))
def test_what_is_saved_is_loaded(tmp_path_factory, forest):
    folder = tmp_path_factory.mktemp("forest")
    first = planted(forest)
    first.save(folder / "a.npz")
    first.save(folder / "b.npz")
    again = Forest.load(folder / "a.npz")
    assert (again.features, again.about) == (first.features, first.about)
    for name in ("roots", "column", "limit", "left", "right", "value"):
        assert getattr(again, name).dtype == getattr(first, name).dtype
        assert (getattr(again, name) == getattr(first, name)).all()
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()


def test_columns_are_found_by_name():
    rows = np.array([[0.0, 5.0, 1.0], [0.0, 1.0, 5.0]])
    forest = stump(("c", "b"), "b", 2.0, -1.0, 1.0)
    assert guess(forest, FEATURES, rows).tolist() == [1.0, -1.0]
    with pytest.raises(ValueError, match="is not in list"):
        guess(forest, ("a", "c"), rows[:, :2])


@pytest.mark.parametrize("seed", range(3))
def test_it_says_what_scikit_learn_says(seed):
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed (extra `learn`)")
    from iree_tuner.search.replay import leave_out

    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(10.0, 5.0, (300, 12)), 6)
    rows[:, :4] = np.round(rows[:, :4])  # many equal values, as knobs have
    values = rows[:, 0] * rows[:, 5] + rng.normal(size=300)
    model = ensemble.ExtraTreesRegressor(20, max_leaf_nodes=64, random_state=seed).fit(
        rows.astype(np.float32), values
    )
    forest = leave_out._exported(model, tuple(f"x{n}" for n in range(12)), ())
    other = np.concatenate([rows, np.round(rng.normal(10.0, 5.0, (300, 12)), 6)])
    assert forest.predict(other) == pytest.approx(model.predict(other.astype(np.float32)), abs=1e-4)


@pytest.mark.parametrize("threshold", [0.1, 1.0 + 2**-24, 1.0 + 2**-23 + 2**-24, -0.1, 7.0])
def test_limits_part_single_precision_as_double_precision_limits_do(threshold):
    """A limit that rounds up to a value that lies above it must not take that value with it."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `learn`)")
    from iree_tuner.search.replay import leave_out

    class Tree:
        children_left, children_right = np.array([1, -1, -1]), np.array([2, -1, -1])
        feature, node_count = np.array([0, -2, -2]), 3
        value = np.array([[[0.0]], [[1.0]], [[2.0]]])

    Tree.threshold = np.array([threshold, -2.0, -2.0])
    model = type("Model", (), {"estimators_": [type("Estimator", (), {"tree_": Tree})]})
    forest = leave_out._exported(model, ("a",), ())
    around = np.float32(threshold)
    rows = np.array(
        [
            np.nextafter(around, -np.inf, dtype=np.float32),
            around,
            np.nextafter(around, np.inf, dtype=np.float32),
        ]
    )
    expected = [1.0 if float(value) <= threshold else 2.0 for value in rows]
    assert forest.predict(rows.astype(float)[:, None]).tolist() == expected


def test_a_trained_forest_ranks_what_it_was_trained_on():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `learn`)")
    from iree_tuner.search.replay.leave_out import train

    space = small("flat_cpu.jsonl.gz")
    forest = train([space])
    assert forest.features == space.features
    assert forest.about == (f"{space.name} {space.workload.key}",)
    rows = space.encode(space.members)
    best = min(space.times_us, key=space.times_us.__getitem__)
    values = forest.predict(rows)
    assert values[space.members.index(best)] < np.median(values)
    again = train([space])
    assert (again.limit == forest.limit).all(), "the same recordings give the same forest"


TRAINED = """
import hashlib, sys
from pathlib import Path
from iree_tuner.search.replay.recorded import find_recordings, read_recording
from iree_tuner.search.replay.leave_out import train

forest = train([read_recording(path) for path in find_recordings([Path(sys.argv[1])])[-3:]])
parts = [getattr(forest, name) for name in ("roots", "column", "limit", "left", "right", "value")]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""

PLAIN = {
    "NPY_DISABLE_CPU_FEATURES": ",".join(reversed(np.show_config("dicts")["SIMD Extensions"]["found"])),
    "OPENBLAS_NUM_THREADS": "1",
}
"""What takes from numpy the vector instructions that this machine has beyond the oldest that it runs on."""


def test_processors_train_the_same_forest():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `learn`)")
    found = set()
    for more in ({}, PLAIN):
        environment = {**os.environ, **more, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", TRAINED, str(RECORDED)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1
