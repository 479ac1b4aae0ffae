"""How far versions of a program may be from its default, beside how far the default is from f32.

    python examples/models/export.py --model gpu --program-only --output FOLDER
    python benchmarks/slack.py FOLDER/*.mlir --device cuda://0 --json rows.jsonl

The true distance is that of the default's results from the same program in f32, compiled for this machine's
processor: another code generator than the one that makes the widened program on a GPU, from which the tuner
takes the slack. Prints, for each result and seed, both as the root of the mean square and as the largest
difference, how many times as large the slack is, and the seconds that finding it took.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from iree_tuner.compiler.worker import Workers
from iree_tuner.device.program_loaded import SEEDS, LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import LARGEST, TYPICAL, ErrorDepth, Spread
from iree_tuner.program.phases import compile_program, submit_widened
from iree_tuner.program.source import load_program
from iree_tuner.targets import DEFAULT_DEVICE, target_for_device


def rows_of(
    path: str, archives: Sequence[str], device: str, depth: ErrorDepth, folder: Path, workers: Workers
) -> list[dict[str, object]]:
    """One row for each result and seed of a program."""
    program = load_program(path)
    run = request(program, parameters=[(None, each) for each in archives])
    here, host = (target_for_device(each) for each in (device, DEFAULT_DEVICE))
    start = time.monotonic()
    wide = [submit_widened(program, target, workers) for target in (here, host)]
    default = compile_program(program, here, workers).data
    files: list[str] = []
    for number, data in enumerate((default, *(workers.wait(each) for each in wide))):
        if not data:
            return [{"program": program.name, "problem": "it has no f16 or bf16, or cannot be widened"}]
        files.append(str(folder / f"{number}.vmfb"))
        Path(files[-1]).write_bytes(data)
    compiled_s, start = time.monotonic() - start, time.monotonic()
    base = LoadedProgram(files[0], device, run)
    results = base.results()
    default_s, start = time.monotonic() - start, time.monotonic()
    spreads = base.spreads(depth, LoadedProgram(files[1], device, run, like=base))
    slack_s = time.monotonic() - start
    exact = LoadedProgram(files[2], DEFAULT_DEVICE, run, like=base).results()
    found: list[dict[str, object]] = []
    for seed, own, reference, most in zip(SEEDS, results, exact, spreads, strict=True):
        for number, (value, right, spread) in enumerate(zip(own, reference, most, strict=True)):
            true = Spread.between([(value, right)])
            found.append({
                "program": program.name, "seed": seed, "result": number,
                "typical": TYPICAL * spread.typical, "true_typical": true.typical,
                "largest": LARGEST * spread.largest, "true_largest": true.largest,
                "times_typical": TYPICAL * spread.typical / max(true.typical, 1e-30),
                "times_largest": LARGEST * spread.largest / max(true.largest, 1e-30),
                "varies": float(np.std(value.astype(np.float64))),
                "compile_s": compiled_s, "default_s": default_s, "slack_s": slack_s,
            })  # fmt: skip
    return found


def main() -> None:
    """Print a row a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--device", default=DEFAULT_DEVICE)
    parser.add_argument("--parameters", nargs="*", default=[], help="archives, of one program")
    parser.add_argument("--dispatches", type=int, default=16, help="of each program: errors of f32 add up")
    parser.add_argument("--longest", type=int, default=4096, help="sum of a dispatch")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    depth = ErrorDepth(given.longest, given.dispatches)
    with Workers(4) as workers, tempfile.TemporaryDirectory() as folder:
        for path in given.programs:
            try:
                rows = rows_of(path, given.parameters, given.device, depth, Path(folder), workers)
            except Exception as error:  # the next program may do
                rows = [{"program": path, "problem": str(error).splitlines()[0]}]
            for row in rows:
                print(json.dumps(row), flush=True)
                if given.json is not None:
                    with given.json.open("a") as file:
                        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
