"""How much the place of code in memory moves its time, with not one instruction changed.

Builds every dispatch of a program at the four multiples of 16 bytes in a cache line (longer names in front
of the code move it), and runs the four in turns.

    python benchmarks/code_placement.py examples/resnet_bottlenecks.mlir
"""

from __future__ import annotations

import argparse
import statistics

from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import build_here
from iree_tuner.measure.timing import rounds_here
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

PLACES = 4


def main() -> None:
    """Print the least and the median time at each place, and the largest ratio of the least times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--device", default="local-task")
    parser.add_argument("--warm", action="store_true", help="with data in the caches")
    options = parser.parse_args()
    target = target_for_device(options.device)
    with Workers(1) as workers:
        for dispatch in extract(load_program(options.program), target, workers).dispatches:
            if dispatch.harness is None:
                continue
            module = dispatch.harness.module
            places = [
                workers.call(build_here, module, target.flags, None, place).vmfb for place in range(PLACES)
            ]
            bench = Bench(dispatch.harness, options.device, places[0], Tolerance(), cold=not options.warm)
            rows = workers.call(rounds_here, places, bench, options.rounds, 0.02)
            columns = list(zip(*rows, strict=True))
            least = [min(column) for column in columns]
            shown = "  ".join(f"{min(c):.1f} ({statistics.median(c):.1f})" for c in columns)
            print(f"{dispatch.name}: {shown} us, {max(least) / min(least):.2f}x apart")


if __name__ == "__main__":
    main()
