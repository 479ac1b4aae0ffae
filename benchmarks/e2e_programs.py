"""Do `run` and `tune` handle every program of a folder, such as IREE's own end-to-end tests?

    git clone --depth 1 https://github.com/iree-org/iree
    python benchmarks/e2e_programs.py iree/tests/e2e --json rows.jsonl
    python benchmarks/e2e_programs.py iree/tests/e2e --json rows.jsonl --command tune --pass=--keep-flags

Each command on each .mlir file is a process of its own, with a time limit. A program is handled if the exit
status is 0. It has failing checks if `run` says so of a `check.expect_*`. It is refused if the status is 1 or
2 and one line says why. All else is an internal error: status 70, a traceback, a process that dies, the time
limit, an error of several lines. Files that `--json` already has are not run again. Prints the numbers, and
the files that are not handled by their reasons.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

COMMANDS = {"run": (), "tune": ("--effort", "smoke", "--no-db", "--jobs", "1")}
REFUSED = (1, 2)
OUTCOMES = ("handled", "failing checks", "refused", "internal errors")

_VARYING = re.compile(r"\S+\.mlir[:\d]*|'[^']*'|\"[^\"]*\"|@[\w$.]+|\d[\w.]*|<[^ ]*>")
_PREFIX, _DIED, _CHECK = "error: ", "the worker exited with", "check fails in "


def main() -> None:
    """Run all that is missing, then sum up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, required=True, help="rows, one a line; appended to")
    parser.add_argument("--command", choices=COMMANDS, action="append", help="default: all")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of each process")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--pass", dest="passed", action="append", default=[], help="argument of the commands")
    given = parser.parse_args()
    files = sorted(path.relative_to(given.folder) for path in given.folder.rglob("*.mlir"))
    if not files:
        sys.exit(f"{given.folder}: no .mlir files")
    commands = given.command or [*COMMANDS]
    wanted = [(command, str(file)) for command in commands for file in files]
    known = {(row["command"], row["file"]): row for row in _rows(given.json)}
    missing = [each for each in wanted if each not in known]
    with ThreadPoolExecutor(given.jobs) as pool, given.json.open("a") as out:
        ran = pool.map(lambda each: outcome(*each, given), missing)
        for row in ran:
            print(json.dumps(row), file=out, flush=True)
            known[row["command"], row["file"]] = row
    for command in commands:
        print("\n".join(summary(command, [known[each] for each in wanted if each[0] == command])))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


def outcome(command: str, file: str, given: argparse.Namespace) -> dict[str, Any]:
    """Run a command on a file: how it ended, and what it said."""
    with tempfile.TemporaryDirectory(prefix="e2e_") as own:
        words = [
            sys.executable,
            "-m",
            "iree_tuner",
            command,
            str((given.folder / file).resolve()),
            *given.passed,
        ]
        words += [*COMMANDS[command], *(("-o", "spec.mlir") if command == "tune" else ())]
        start = time.monotonic()
        process = subprocess.Popen(
            words, cwd=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            stdout, stderr = process.communicate(timeout=given.seconds)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            status = None
        row = {
            "command": command,
            "file": file,
            "status": status,
            "seconds": round(time.monotonic() - start, 1),
        }
    errors = stderr.decode(errors="replace").splitlines()
    return {
        **row,
        **_judged(status, errors),
        "stderr": errors[-40:],
        "stdout": stdout.decode(errors="replace")[-4000:],
    }


def _judged(status: int | None, errors: list[str]) -> dict[str, str]:
    """The outcome, and the reason of one that is not `handled`."""
    if status is None:
        return {"outcome": "internal errors", "reason": "time limit"}
    if any(line.startswith("Traceback") for line in errors):
        return {"outcome": "internal errors", "reason": errors[-1]}
    failing = [line for line in errors if line.startswith(_CHECK)]
    if status == 0 or failing:
        return {"outcome": "failing checks" if failing else "handled", "reason": "; ".join(failing)}
    said = [number for number, line in enumerate(errors) if line.startswith(_PREFIX)]
    if status in REFUSED and said == [len(errors) - 1]:
        reason = errors[-1].removeprefix(_PREFIX)
        return {"outcome": "internal errors" if _DIED in reason else "refused", "reason": reason}
    return {
        "outcome": "internal errors",
        "reason": f"status {status}: {errors[-1] if errors else 'no message'}",
    }


def summary(command: str, rows: Iterable[dict[str, Any]]) -> list[str]:
    """The lines about a command."""
    rows = list(rows)
    counts = Counter(row["outcome"] for row in rows)
    lines = [f"{command}: {len(rows)} files, {', '.join(f'{counts[each]} {each}' for each in OUTCOMES)}"]
    reasons = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for row in rows:
        if row["outcome"] != "handled":
            reasons[row["outcome"], _VARYING.sub("_", row["reason"])].append(row)
    for (what, _), same in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        lines.append(f"  {what} ({len(same)}): {same[0]['reason']}")
        lines += [f"    {row['file']}" for row in same]
    return lines


if __name__ == "__main__":
    main()
