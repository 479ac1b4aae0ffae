"""A whole model's run that is killed in the middle and started again, beside two that were let alone.

    python benchmarks/killed_model.py M/decoder.mlir --parameters M/decoder.irpa --budget 300 --kill-after 150

All begin with nothing known and have the same time: what is killed (SIGKILL, no chance to tidy up) is
started again with the time that was left; trials that its database has are not measured again. In the end the
model is compared, interleaved, as the compiler makes it and as each run left it; what the two that were let
alone differ by is the noise of such a search. Prints a JSON object a line.
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
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.measure.program import ProgramComparison, compare_programs
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
    parser.add_argument("--budget", type=int, default=300, help="seconds, of each run in all")
    parser.add_argument("--kill-after", type=int, default=150, help="seconds")
    parser.add_argument("--rounds", type=int, default=160)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="killed_") as name:
        folder = Path(name)
        told("let alone", tuned(given, folder / "alone", given.budget))
        told("killed", {"after_s": given.kill_after, "trials": killed(given, folder / "killed")})
        told("again", tuned(given, folder / "killed", given.budget - given.kill_after))
        told("let alone, a second time", tuned(given, folder / "second", given.budget))
        for what, record in compared(given, folder):
            told(what, record)


def told(what: str, record: dict[str, object]) -> None:
    """A line of the output."""
    print(json.dumps({"what": what, **record}), flush=True)


def command(given: argparse.Namespace, path: Path, budget: int) -> list[str]:
    """Of a run of `budget` seconds whose files begin with `path`."""
    parameters = [word for each in given.parameters for word in ("--parameters", each)]
    return [
        shutil.which("iree-tuner") or "iree-tuner", "tune", str(given.program), *parameters,
        "--budget", f"{budget}s", "--device", DEVICE, "--db", f"{path}.db",
        "-o", f"{path}.spec.mlir", "--vmfb", f"{path}.vmfb", "--json",
    ]  # fmt: skip


def tuned(given: argparse.Namespace, path: Path, budget: int) -> dict[str, object]:
    """A run to its end, and what it says of the model."""
    start = time.perf_counter()
    done = subprocess.run(command(given, path, budget), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip().splitlines()[-1])
    model = json.loads(done.stdout.splitlines()[-1])
    verdict = {key: model[key] for key in ("speedup", "interval", "verdict", "flags", "entries")}
    return {"seconds": round(time.perf_counter() - start, 1), "trials": trials_in(path), **verdict}


def killed(given: argparse.Namespace, path: Path) -> int:
    """A run that is killed; trials that its database has then."""
    running = subprocess.Popen(
        command(given, path, given.budget), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
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


def compared(given: argparse.Namespace, folder: Path) -> list[tuple[str, dict[str, object]]]:
    """All results against the compiler's own choices, and against each other."""
    program = load_program(given.program)
    run = request(program, parameters=[(None, each) for each in given.parameters])
    with Workers(1) as workers:
        default = compile_program(program, target_for_device(DEVICE), workers).data
    alone, killed, second = ((folder / f"{name}.vmfb").read_bytes() for name in ("alone", "killed", "second"))

    def against(base: bytes, others: list[bytes]) -> list[ProgramComparison]:
        with Workers(1) as workers:
            return compare_programs(
                [[base, *others]], DEVICE, workers, given.rounds, ErrorDepth(1 << 12, 40), run
            )

    found = [
        *zip(
            ("let alone / defaults", "killed / defaults", "let alone, a second time / defaults"),
            against(default, [alone, killed, second]),
            strict=True,
        ),
        *zip(("killed / let alone", "second / let alone"), against(alone, [killed, second]), strict=True),
        ("killed / second", against(second, [killed])[0]),
    ]
    return [(what, figures(each)) for what, each in found]


def figures(found: ProgramComparison) -> dict[str, object]:
    """What a comparison says."""
    if found.comparison is None:
        return {"error": found.error}
    comparison = found.comparison
    return {
        "speedup": comparison.speedup,
        "interval": comparison.interval,
        "verdict": comparison.verdict,
    }


if __name__ == "__main__":
    main()
