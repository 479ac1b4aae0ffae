"""Train the priors that ship with the package, on all recordings in the repository.

    python scripts/train_priors.py recordings

Writes iree_tuner/search/cost/priors/KIND.npz, for each kind of features that two workloads or more have.
Needs scikit-learn. The same recordings and the same release of scikit-learn give the same files.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from iree_tuner.search.cost.forest import FOLDER
from iree_tuner.search.replay.leave_out import train
from iree_tuner.search.replay.recorded import RecordedSpace, find_recordings, read_recording


def main() -> None:
    """Read, train, write, and say what was made of what."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    kinds: dict[str, list[RecordedSpace]] = {}
    for path in find_recordings(options.recordings):
        space = read_recording(path)
        kinds.setdefault(space.kind, []).append(space)
    options.output.mkdir(parents=True, exist_ok=True)
    for kind, spaces in sorted(kinds.items()):
        if kind == "knobs" or len({space.workload.key for space in spaces}) < 2:
            print(f"{kind}: left out, {len(spaces)} recordings", file=sys.stderr)
            continue
        forest = train(spaces)
        path = options.output / f"{kind}.npz"
        forest.save(path)
        members = sum(len(space.members) for space in spaces)
        print(f"{kind}: {len(spaces)} recordings, {members} members, {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
