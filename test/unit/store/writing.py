"""A process that writes trials of the knob x from FIRST on, and prints each once it is kept.

python writing.py DATABASE FIRST COUNT [FILE_LIMIT_BYTES]
"""

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from store.samples import KEY, trial

from iree_tuner.store import Store, StoreError


def main(path, first, count, limit=0):
    with Store.open(path) as store:
        study, run = store.study(KEY), store.start_run("writing", {})
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for value in range(first, first + count):
            store.add(study, run, [trial(value, at=float(value))])
            sys.stdout.write(f"{value}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1], *map(int, sys.argv[2:]))
    except StoreError as error:
        sys.exit(f"error: {error}")
