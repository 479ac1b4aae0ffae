"""Coverage in every process that tests start: this folder is on the `PYTHONPATH` that test/run.py sets.

Processes that tests and commands run in are measured by coverage.py. Workers are not: they are many, start
for one call, and are killed when they are done with, so that importing coverage.py would cost more than what
they do, and what it found be lost. One of three notes the lines of the package that it runs, and writes them
down each second; test/run.py puts all together.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

SETTINGS = os.environ.get("IREE_TUNER_TEST_COVERAGE")
ONE_OF = 3
PACKAGE = os.path.join("", "iree_tuner", "")  # noqa: PTH118 (this runs first in every process)


def _note_lines(path: str) -> None:
    """Of this worker's main thread, from now on. Without a thread of its own: tests count threads."""
    import marshal
    import time

    lines: dict[str, set[int]] = {}
    ours: dict[CodeType, set[int] | None] = {}
    calls, due, written = 0, time.monotonic() + 0.2, 0

    def called(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal calls
        code = frame.f_code
        if code not in ours:
            inside = PACKAGE in code.co_filename
            ours[code] = lines.setdefault(code.co_filename, set()) if inside else None
        calls += 1
        if calls % 64 == 0 and time.monotonic() > due:
            write()
        found = ours[code]
        if found is None:
            return None
        found.add(frame.f_lineno)

        def line(frame: FrameType, event: str, argument: object) -> Any:
            found.add(frame.f_lineno)
            return line

        return line

    def write() -> None:
        nonlocal due, written
        due, count = time.monotonic() + 1.0, sum(map(len, lines.values()))
        if count > written:
            written = count
            with open(f"{path}.part", "wb") as file:  # noqa: PTH123
                marshal.dump({name: list(found) for name, found in lines.items()}, file)
            os.replace(f"{path}.part", path)  # noqa: PTH105

    sys.settrace(called)


if SETTINGS and not any("resource_tracker" in each for each in sys.orig_argv):
    if any("task.serve" in each for each in sys.orig_argv):  # iree_tuner/compiler/process.py
        if os.urandom(1)[0] % ONE_OF == 0:
            _note_lines(f"{os.path.dirname(os.environ['COVERAGE_FILE'])}/lines.{os.getpid()}")  # noqa: PTH120
    else:
        import coverage

        os.environ["COVERAGE_PROCESS_START"] = SETTINGS
        coverage.process_startup()
        del os.environ["COVERAGE_PROCESS_START"]
