"""Coverage in every process that tests start: this folder is on the `PYTHONPATH` that test/run.py sets.

Processes that tests and commands run in are measured by coverage.py. Workers are not: they are many, start
for one call, and are killed when they are done with, so that importing coverage.py would cost more than what
they do, and what it found be lost. One of four notes the lines of the package that it runs, and writes them
down each second; test/run.py puts all together.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

SETTINGS = os.environ.get("IREE_TUNER_TEST_COVERAGE")
ONE_OF = 4
PACKAGE = os.path.join("", "iree_tuner", "")  # noqa: PTH118 (this runs first in every process)


def _note_lines(folder: str) -> None:
    """Of this worker, from now on."""
    import marshal
    import threading

    lines: dict[str, set[int]] = {}
    ours: dict[CodeType, set[int] | None] = {}

    def called(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code not in ours:
            inside = PACKAGE in code.co_filename
            ours[code] = lines.setdefault(code.co_filename, set()) if inside else None
        found = ours[code]
        if found is None:
            return None
        found.add(frame.f_lineno)

        def line(frame: FrameType, event: str, argument: object) -> Any:
            found.add(frame.f_lineno)
            return line

        return line

    def write() -> None:
        pause, path = threading.Event(), f"{folder}/lines.{os.getpid()}"
        written, seconds = 0, 0.25
        while not pause.wait(seconds):
            seconds, known = 1.0, {name: list(found) for name, found in list(lines.items())}
            if sum(map(len, known.values())) > written:
                written = sum(map(len, known.values()))
                with open(f"{path}.part", "wb") as file:  # noqa: PTH123
                    marshal.dump(known, file)
                os.replace(f"{path}.part", path)  # noqa: PTH105

    threading.Thread(target=write, name="coverage", daemon=True).start()
    threading.settrace(called)
    sys.settrace(called)


if SETTINGS and not any("resource_tracker" in each for each in sys.orig_argv):
    if any("multiprocessing.spawn" in each for each in sys.orig_argv):
        if os.urandom(1)[0] % ONE_OF == 0:
            _note_lines(os.path.dirname(os.environ["COVERAGE_FILE"]))  # noqa: PTH120
    else:
        import coverage

        os.environ["COVERAGE_PROCESS_START"] = SETTINGS
        coverage.process_startup()
        del os.environ["COVERAGE_PROCESS_START"]
