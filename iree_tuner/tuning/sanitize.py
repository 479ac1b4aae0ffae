"""Which dispatches of a program read or write where they must not, as memory checkers say."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.compiler.worker import Crash, Ok
from iree_tuner.errors import TunerError
from iree_tuner.execute.program_run import ProgramRun
from iree_tuner.execute.sanitize import Watched, guarded_here
from iree_tuner.program.parts import Part, take_apart
from iree_tuner.program.source import Program
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.sound import written

CUDA_TOOLS = ("memcheck", "racecheck")
"""Of compute-sanitizer: reads and writes out of bounds; races in shared memory."""

_PLACES = ("/usr/local/cuda/bin", "/opt/cuda/bin")
_TIMEOUT_S = 1800.0
_STARTED = "from iree_tuner.execute.sanitize import main; main()"
_REPORTED = re.compile(
    r"^=+ (?:Error: |Warning: )?((?:Invalid|Race|Potential|Uninitialized|Unaligned|Hazard).*)"
)
_IN = re.compile(r"^=+ .*?\bat (?:.*?:)?([A-Za-z_$][\w$]*?)(?:\(.*)?\+0x[0-9a-f]+")


@dataclass(frozen=True)
class Hit:
    """What a checker says of a dispatch.

    Attributes:
        dispatch: its export.
        tool: who says so.
        message: its first words.
        count: how often, in one run.
    """

    dispatch: str
    tool: str
    message: str
    count: int = 1


@dataclass(frozen=True)
class Sanitized:
    """What was found.

    Attributes:
        hits: for each dispatch and kind.
        dispatches: that were run.
        left_out: why some were not.
        tools: who watched.
    """

    hits: tuple[Hit, ...]
    dispatches: int
    left_out: tuple[str, ...]
    tools: tuple[str, ...]


def sanitize(program: Program, run: ProgramRun, lab: Lab, tools: Sequence[str] = CUDA_TOOLS) -> Sanitized:
    """Run each dispatch of a program once, watched.

    Args:
        program: with the specs that are to be looked at.
        run: how it is run; the first of its functions is taken apart.
        lab: where it is compiled and run.
        tools: of compute-sanitizer, on CUDA.

    Raises:
        TunerError: there is no checker for the device; or the program cannot be taken apart, or run.
    """
    device = lab.measurer.device
    local = device.startswith("local-")
    checker = "" if local else find_checker(device)
    function = run.functions[0] if run.functions else ""
    parts = lab.compilers.call(take_apart, program.data, program.name, lab.target, function)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        pieces = written(parts, Path(folder) / "parts.vmfb")
        watched = Watched(pieces, device, run, str(Path(folder) / "running"))
        if local:
            hits, ran = _guarded(watched, lab)
            return Sanitized(tuple(hits), ran, parts.left_out, ("guard pages",))
        found = [hit for tool in tools for hit in _watched_by(checker, tool, watched, Path(folder))]
        return Sanitized(tuple(found), len(parts.parts), parts.left_out, tuple(tools))


def find_checker(device: str) -> str:
    """The path of compute-sanitizer. Raises TunerError where there is none, or the device has none."""
    if not device.startswith("cuda"):
        raise TunerError(
            f"no memory checker is known for {device}",
            hint="local-task has guard pages, cuda compute-sanitizer",
        )
    found = shutil.which("compute-sanitizer")
    found = found or next(
        filter(None, (shutil.which("compute-sanitizer", path=path) for path in _PLACES)), None
    )
    if found is None:
        raise TunerError("compute-sanitizer is not installed", hint="it comes with NVIDIA's CUDA toolkit")
    return found


def _guarded(watched: Watched, lab: Lab) -> tuple[list[Hit], int]:
    """Again and again without those that died of it."""
    hits: list[Hit] = []
    skipped: list[int] = []
    parts: Sequence[Part] = watched.pieces.parts.parts
    while True:
        end = lab.measurer.workers.end(
            lab.measurer.workers.submit(guarded_here, watched, tuple(skipped), timeout_s=_TIMEOUT_S)
        )
        if isinstance(end, Ok):
            return hits, end.value
        marker = Path(watched.marker)
        place = int.from_bytes(marker.read_bytes(), "little") if marker.exists() else -1
        if not isinstance(end, Crash) or place < 0 or place in skipped:
            raise TunerError(f"the program in parts does not run: {end}")
        hits.append(Hit(parts[place].dispatch, "guard pages", f"reads or writes behind an input: {end}"))
        skipped.append(place)


def _watched_by(checker: str, tool: str, watched: Watched, folder: Path) -> Iterator[Hit]:
    asked, log = folder / "watched", folder / f"{tool}.txt"
    asked.write_bytes(pickle.dumps(watched))
    command = [
        checker, "--tool", tool, "--log-file", str(log), "--print-limit", "1000",
        sys.executable, "-c", _STARTED, str(asked),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise TunerError(f"compute-sanitizer --tool {tool} took longer than {_TIMEOUT_S:.0f} s") from None
    text = log.read_text(errors="replace") if log.exists() else ""
    if done.returncode or ("ERROR SUMMARY" not in text and "RACECHECK SUMMARY" not in text):
        last = (done.stderr.strip() or text.strip() or "it said nothing").splitlines()[-1]
        raise TunerError(f"compute-sanitizer --tool {tool} failed: {last}")
    yield from hits_in(text, tool)


def hits_in(text: str, tool: str) -> list[Hit]:
    """What a report of compute-sanitizer says, each kind of a dispatch once."""
    counts: dict[tuple[str, str], int] = {}
    message = ""
    for line in text.splitlines():
        if reported := _REPORTED.match(line):
            message = reported[1]
        if message and (inside := _IN.match(line)):
            key = inside[1], re.sub(r"\s+(at|by|on) .*", "", message)
            counts[key] = counts.get(key, 0) + 1
            message = ""
    return [Hit(dispatch, tool, said, count) for (dispatch, said), count in counts.items()]
