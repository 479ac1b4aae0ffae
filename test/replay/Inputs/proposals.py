"""Print what strategies propose on small recordings: the first places among the members, a hash of all.

    python proposals.py FOLDER STRATEGY...

With and without a prior; this one is by hand, as scikit-learn's differ between its releases.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

from iree_tuner.search.cost.forest import Forest
from iree_tuner.search.replay.recorded import read_recording
from iree_tuner.search.replay.run import replay
from iree_tuner.search.strategy import make_strategy

RECORDINGS = ("deep_h200.jsonl.gz", "flat_cpu.jsonl.gz", "flat_h200.jsonl", "tall_cpu.jsonl")
BATCH = 4
SEEDS = (0, 1)


class Overheard:
    """A strategy, and what it was asked."""

    def __init__(self, strategy):
        self.strategy = strategy
        self.asked = []

    def ask(self, count):
        found = self.strategy.ask(count)
        self.asked += found
        return found

    def tell(self, results):
        self.strategy.tell(results)


def prior(space):
    """Two trees: each splits a feature at the median of the members."""
    rows = space.encode(space.members)
    columns = [int(place) for place in np.argsort(-rows.std(axis=0), kind="stable")[:2]]
    limits = [float(np.sort(rows[:, column])[len(rows) // 2]) for column in columns]
    return Forest(
        space.features,
        np.array([0, 3], np.int32),
        np.array([columns[0], -1, -1, columns[1], -1, -1], np.int16),
        np.array([limits[0], 0, 0, limits[1], 0, 0], np.float32),
        np.array([1, 0, 0, 4, 0, 0], np.int32),
        np.array([2, 0, 0, 5, 0, 0], np.int32),
        np.array([0, 0.5, 1.5, 0, 2.0, 1.0], np.float32),
    )


def main():
    """A line for each recording, prior, strategy and seed."""
    for recording in RECORDINGS:
        space = read_recording(Path(sys.argv[1]) / recording)
        for known in (None, prior(space)):
            space.prior = known
            for name in sys.argv[2:]:
                for seed in SEEDS:
                    print(line(space, name, seed))


def line(space, name, seed):
    """What one run asked."""
    overheard = []

    def make(landscape, seed):
        overheard.append(Overheard(make_strategy(name, landscape, seed, landscape.start)))
        return overheard[0]

    replay(space, name, make, seed, len(space.members), BATCH)
    asked = overheard[0].asked
    digest = hashlib.sha256(repr([each.items_ for each in asked]).encode()).hexdigest()[:12]
    places = [space.members.index(each) if each in space.scores else "start" for each in asked[: 2 * BATCH]]
    known = "prior" if space.prior else "alone"
    return f"{space.name} {known} {name} {seed}: {len(asked)} {digest} {' '.join(map(str, places))}"


if __name__ == "__main__":
    main()
