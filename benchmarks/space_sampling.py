"""How long 100 samples take, of every space of the programs in `programs/ops/`, from the constraints op on.

    python benchmarks/space_sampling.py --targets hip:gfx942,cuda:sm_80,vulkan:ampere,llvm-cpu:host

Prints a line a space: members, and median and least of some runs in milliseconds, each with nothing kept from
the one before; then how many spaces took longer than the limit. Exit status 1 when one does in the median.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from space_programs import programs, spaces_of

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.space.space import Space
from iree_tuner.targets import parse_target

SAMPLES = 100
LIMIT_MS = 100.0


def main() -> int:
    """Measure each space in turn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", help="files, or names of files in programs/ops/; all without")
    parser.add_argument("--targets", default="llvm-cpu:host", help="separated by commas")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    context = new_context()
    slow = total = 0
    print(f"{'program':44} {'target':14} {'space':27} {'members':>9} {'median':>7} {'least':>7} ms")
    with Workers(1) as workers:
        for target in arguments.targets.split(","):
            for program in programs(arguments.programs, target):
                for _, spaces in spaces_of(program, parse_target(target), workers, context):
                    for space in spaces:
                        found = [time_ms(space) for _ in range(arguments.repeats)]
                        median, least = statistics.median(found), min(found)
                        slow, total = slow + (median > LIMIT_MS), total + 1
                        print(
                            f"{program.stem:44} {target:14} {space.label:27} {space.count():>9} "
                            f"{median:>7.1f} {least:>7.1f}",
                            flush=True,
                        )
    print(f"{slow} of {total} spaces take more than {LIMIT_MS:.0f} ms in the median")
    return int(slow > 0)


def time_ms(space: Space) -> float:
    """Samples of a space that has been asked nothing yet."""
    fresh = Space(space.workload, space.module, space.op)
    started = time.perf_counter()
    fresh.sample(SAMPLES, seed=0)
    return (time.perf_counter() - started) * 1e3


if __name__ == "__main__":
    sys.exit(main())
