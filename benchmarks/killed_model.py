"""A whole model's run that is killed in the middle and started again, beside one that was let alone.

    python benchmarks/killed_model.py M/unet.mlir --parameters M/unet.irpa --budget 300 --kill-after 150

Both begin with nothing known. The second is killed (SIGKILL, no chance to tidy up) and started again with the
same command; trials that its database has are not measured again. In the end the model is compared as the
compiler makes it, as the first run left it, and as the second did, interleaved. Prints a JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.measure.program_request import request
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

DEVICE = "local-task"


def main() -> None:
    """Run all three, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--parameters", action="append", default=[])
    parser.add_argument("--budget", type=int, default=300, help="seconds, of each run that is let alone")
    parser.add_argument("--kill-after", type=int, default=150, help="seconds")
    parser.add_argument("--rounds", type=int, default=160)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="killed_") as name:
        folder = Path(name)
        print(json.dumps({"run": "let alone", **tuned(given, folder / "alone")}), flush=True)
        known = killed(given, folder / "killed")
        print(json.dumps({"run": "killed", "after_s": given.kill_after, "trials": known}), flush=True)
        print(json.dumps({"run": "again", "known": known, **tuned(given, folder / "killed")}), flush=True)
        for record in compared(given, [folder / "alone.vmfb", folder / "killed.vmfb"]):
            print(json.dumps(record), flush=True)


def command(given: argparse.Namespace, path: Path) -> list[str]:
    """Of a run whose files begin with `path`."""
    parameters = [word for each in given.parameters for word in ("--parameters", each)]
    return [
        shutil.which("iree-tuner") or "iree-tuner", "tune", str(given.program), *parameters,
        "--budget", f"{given.budget}s", "--device", DEVICE, "--db", f"{path}.db",
        "-o", f"{path}.spec.mlir", "--vmfb", f"{path}.vmfb", "--json",
    ]  # fmt: skip


def tuned(given: argparse.Namespace, path: Path) -> dict[str, object]:
    """A run to its end, and what it says of the model."""
    start = time.perf_counter()
    done = subprocess.run(command(given, path), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip().splitlines()[-1])
    model = json.loads(done.stdout.splitlines()[-1])
    told = {key: model[key] for key in ("speedup", "interval", "verdict", "flags", "entries")}
    return {"seconds": round(time.perf_counter() - start, 1), "trials": trials_in(path), **told}


def killed(given: argparse.Namespace, path: Path) -> int:
    """A run that is killed; trials that its database has then."""
    running = subprocess.Popen(command(given, path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        running.wait(given.kill_after)
        sys.exit("it ended before it could be killed")
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
    return trials_in(path)


def trials_in(path: Path) -> int:
    """Trials in a run's database."""
    with closing(sqlite3.connect(f"{path}.db")) as database:
        return database.execute("SELECT count(*) FROM trials").fetchone()[0]


def compared(given: argparse.Namespace, paths: list[Path]) -> list[dict[str, object]]:
    """Both results against the compiler's own choices, and the second against the first."""
    program = load_program(given.program)
    run = request(program, parameters=[(None, each) for each in given.parameters])
    with Workers(1) as workers:
        default = compile_program(program, target_for_device(DEVICE), workers).data
    first, second = (path.read_bytes() for path in paths)

    def against(base: bytes, others: list[bytes]) -> list[ProgramComparison]:
        with Workers(1) as workers:
            return compare_programs([[base, *others]], DEVICE, workers, given.rounds, 1 << 14, run)

    names = ("let alone against the defaults", "killed and again against the defaults")
    found = [*zip(names, against(default, [first, second]), strict=True)]
    found.append(("killed and again against let alone", against(first, [second])[0]))
    return [
        {"what": name, "speedup": each.comparison.speedup, "interval": each.comparison.interval,
         "verdict": each.comparison.verdict}
        if each.comparison else {"what": name, "error": each.error}
        for name, each in found
    ]  # fmt: skip


if __name__ == "__main__":
    main()
