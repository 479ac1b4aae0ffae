"""Recordings for tests: small ones of real spaces, and lines by hand."""

import json
from pathlib import Path

import numpy as np

from iree_tuner.search.cost.forest import Forest
from iree_tuner.search.replay.recorded import read_recording

INPUTS = Path(__file__).parents[3] / "replay" / "Inputs"
NAMES = ("deep_h200.jsonl.gz", "flat_cpu.jsonl.gz", "flat_h200.jsonl", "tall_cpu.jsonl")

HEADER = {
    "recording": 1, "device": "A GPU", "driver": "580", "compiler": "3.13.0", "target": "cuda:sm_80",
    "op": "matmul", "m": 128, "n": 256, "k": 512, "lhs": "f16", "rhs": "f16", "result": "f32",
    "indexing_maps": ["(m,n,k)->(m,k)", "(m,n,k)->(k,n)", "(m,n,k)->(m,n)"], "space_size": 10,
}  # fmt: skip
DEFAULT = {"pipeline": None, "knobs": None, "outcome": "ok", "min_us": 16.0}


def member(x, min_us=None, pipeline="A", **more):
    """A line of a member with one knob; a failure where it has no time."""
    line = {"pipeline": pipeline, "knobs": {"x": x}, "outcome": "compile_error" if min_us is None else "ok"}
    return line | ({} if min_us is None else {"min_us": min_us}) | more


def lines(count=4):
    """A recording whose members take 1, 2, 3, ... us."""
    return [HEADER, DEFAULT, *(member(x, 1.0 + x) for x in range(count))]


def write(path, records):
    """As a file, one object a line."""
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def small(name):
    """One of the recordings that the lit tests have."""
    return read_recording(INPUTS / name)


def stump(features, feature, limit, below, above):
    """A forest of one tree: a value up to the limit of one feature, and another above it."""
    return Forest(
        features=tuple(features),
        roots=np.array([0], np.int32),
        column=np.array([list(features).index(feature), -1, -1], np.int16),
        limit=np.array([limit, 0, 0], np.float32),
        left=np.array([1, 0, 0], np.int32),
        right=np.array([2, 0, 0], np.int32),
        value=np.array([0, below, above], np.float32),
    )
