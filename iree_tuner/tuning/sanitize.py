"""Which dispatches of a program read or write where they must not, as memory checkers say."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.compiler.task import exit_text
from iree_tuner.compiler.worker import Crash, Ok
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import TunerError
from iree_tuner.measure.sanitize import Watched, guarded_here
from iree_tuner.program.parts import ProgramPart
from iree_tuner.program.source import Program
from iree_tuner.targets import kind_of_device, on_host
from iree_tuner.tuning.faults import begin_parts, in_parts
from iree_tuner.tuning.lab import Lab

CUDA_TOOLS = ("memcheck", "racecheck")
"""Of compute-sanitizer: reads and writes out of bounds; races in shared memory."""

_PLACES = ("/usr/local/cuda/bin", "/opt/cuda/bin")
_TIMEOUT_S, _HANGS_S, _POLL_S = 600.0, 20.0, 0.5
_ENDED = re.compile("(ERROR|RACECHECK) SUMMARY")
_STARTED = "from iree_tuner.measure.sanitize import main; main()"
_REPORTED = re.compile(
    r"^=+ (?:Error: |Warning: )?((?:Invalid|Race|Potential|Uninitialized|Unaligned|Hazard).*)"
)
_NAME = r"([A-Za-z_$][\w$]*)(?:\(.*\))?"
_IN = re.compile(rf"^=+ .*?\bat (?:0x[0-9a-f]+ in )?(?:.*?:)?{_NAME}(?:\+0x[0-9a-f]+|\s*$)")


@dataclass(frozen=True)
class MemoryFault:
    """A checker's finding about a dispatch."""

    dispatch: str  # its export
    tool: str  # the checker that found it
    message: str  # its first words
    count: int = 1  # how often, in one run


@dataclass(frozen=True)
class Sanitized:
    """The findings."""

    hits: tuple[MemoryFault, ...]  # for each dispatch and kind
    dispatches: int  # that were run
    left_out: tuple[str, ...]  # why some were not
    tools: tuple[str, ...]  # the checkers that watched


def sanitize(program: Program, run: ProgramRun, lab: Lab, tools: Sequence[str] = CUDA_TOOLS) -> Sanitized:
    """Run each dispatch of a program once, watched.

    Args:
        program: with the specs that are to be looked at.
        tools: of compute-sanitizer, on CUDA.

    Raises:
        TunerError: there is no checker for the device; or the program cannot be taken apart, or run.
    """
    device = lab.measurer.device
    local = on_host(device)
    checker = "" if local else find_checker(device)
    with (
        in_parts(begin_parts([(program, lab.target, None)], run, lab), lab) as (pieces,),
        tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder,
    ):
        parts = pieces.parts
        watched = Watched(pieces, device, run, str(Path(folder) / "running"))
        if local:
            hits, ran = _guarded(watched, lab)
            return Sanitized(tuple(hits), ran, parts.left_out, ("guard pages",))
        found = [hit for tool in tools for hit in _watched_by(checker, tool, watched, Path(folder))]
        count = sum(bool(part.dispatch) for part in parts.parts)
        return Sanitized(tuple(found), count, parts.left_out, tuple(tools))


def find_checker(device: str) -> str:
    """The path of compute-sanitizer. Raises TunerError if it is not installed, or not for the device."""
    if kind_of_device(device).memory_checker != "compute-sanitizer":
        raise TunerError(
            f"no memory checker for {device}",
            hint="local-task supports guard pages, cuda supports compute-sanitizer",
        )
    found = shutil.which("compute-sanitizer")
    found = found or next(
        filter(None, (shutil.which("compute-sanitizer", path=path) for path in _PLACES)), None
    )
    if found is None:
        raise TunerError("compute-sanitizer is not installed", hint="NVIDIA's CUDA toolkit has it")
    return found


def _guarded(watched: Watched, lab: Lab) -> tuple[list[MemoryFault], int]:
    """Run with guard pages, again without the dispatches that died."""
    hits: list[MemoryFault] = []
    skipped: list[int] = []
    parts: Sequence[ProgramPart] = watched.pieces.parts.parts
    while True:
        end = lab.measurer.workers.end(
            lab.measurer.workers.submit(guarded_here, watched, tuple(skipped), timeout_s=_TIMEOUT_S)
        )
        if isinstance(end, Ok):
            return hits, end.value
        place = _marked(Path(watched.marker))
        if not isinstance(end, Crash) or place is None or place in skipped:
            raise TunerError(f"the program fails when it is run in parts: {end}")
        message = f"reads or writes past the end of an input ({exit_text(end.exit_code)})"
        hits.append(MemoryFault(parts[place].dispatch, "guard pages", message))
        skipped.append(place)


def _watched_by(checker: str, tool: str, watched: Watched, folder: Path) -> list[MemoryFault]:
    """A tool's findings; it runs again without dispatches that end the process."""
    asked, log = folder / "watched", folder / f"{tool}.txt"
    asked.write_bytes(pickle.dumps(watched))
    hits: list[MemoryFault] = []
    skipped: list[int] = []
    parts = watched.pieces.parts.parts
    while True:
        log.unlink(missing_ok=True)
        # With these, a kernel with an error ends there, and later ones go on.
        command = [
            checker, "--tool", tool, "--log-file", str(log), "--print-limit", "100",
            "--destroy-on-device-error", "kernel",
            sys.executable, "-c", _STARTED, str(asked), *map(str, skipped),
        ]  # fmt: skip
        code, said = _run_watched(command, Path(watched.marker), log)
        text = log.read_text(errors="replace") if log.exists() else ""
        found = hits_in(text, tool)
        hits += [hit for hit in found if all(hit.dispatch != each.dispatch for each in hits)]
        if code == 0 and _ENDED.search(text):
            return hits
        place = _marked(Path(watched.marker))
        if not found or place is None or place in skipped:
            last = (said.strip() or text.strip() or "no output").splitlines()[-1]
            raise TunerError(f"compute-sanitizer --tool {tool} failed: {last}")
        skipped += [n for n, part in enumerate(parts) if part.dispatch == parts[place].dispatch]


def _run_watched(command: Sequence[str], marker: Path, log: Path) -> tuple[int | None, str]:
    """The exit code, None if it was killed, and its output. A process may hang after an error."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        since, last = time.monotonic(), (None, 0)
        while True:
            try:
                _, said = process.communicate(timeout=_POLL_S)
                return process.returncode, said
            except subprocess.TimeoutExpired:
                now = _marked(marker), log.stat().st_size if log.exists() else 0
                if now != last:
                    since, last = time.monotonic(), now
                told = bool(last[1]) and bool(hits_in(log.read_text(errors="replace"), ""))
                if time.monotonic() - since > (_HANGS_S if told else _TIMEOUT_S):
                    os.killpg(process.pid, signal.SIGKILL)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise


def _marked(marker: Path) -> int | None:
    return int.from_bytes(marker.read_bytes(), "little") if marker.exists() else None


def hits_in(text: str, tool: str) -> list[MemoryFault]:
    """The findings in a report of compute-sanitizer, each kind once for a dispatch."""
    counts: dict[tuple[str, str], int] = {}
    message = ""
    for line in text.splitlines():
        if reported := _REPORTED.match(line):
            message = reported[1]
        if message and (inside := _IN.match(line)):
            key = inside[1], re.sub(r"\s+(at|by|on) .*", "", message)
            counts[key] = counts.get(key, 0) + 1
            message = ""
    return [MemoryFault(dispatch, tool, said, count) for (dispatch, said), count in counts.items()]
