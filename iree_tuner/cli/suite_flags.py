"""What `suite run` and `suite compare` have in common: operations, devices, conditions, results."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, cast, get_args

from cyclopts import Parameter

from iree_tuner.cli.durations import parse_duration
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.execute.device_facts import rotation_bytes, usable_cores
from iree_tuner.suite.conditions import Conditions, Timing
from iree_tuner.suite.element_types import own_f8
from iree_tuner.suite.item import Item, items_from
from iree_tuner.suite.patterns import is_found, patterns_of
from iree_tuner.suite.references import NUMPY, TORCH
from iree_tuner.targets import target_for_device

_TIMINGS = cast("tuple[str, ...]", get_args(Timing))
_REFERENCES = (NUMPY, TORCH)
_USUAL, _MEASURED = "usual", "measured"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Where:
    """On what.

    Attributes
    ----------
    device
        Device URI: local-task, local-sync, cuda://0, hip://0, vulkan://0. Several share the operations.
    chip
        What to compile for, with options: host, host+data-tiling; a GPU's architecture.
    only
        Regular expressions of operations' names, joined by commas: those that one finds take part.
    jobs
        Compile workers; one a core by default.
    output
        Folder for the results: rows, compiled code, specs. A run that was ended goes on where it was.
    csv
        Also write the rows as a table.
    fresh
        Measure again what the folder has.
    roofline
        What the device could do: usual (measured on processors, data sheets of GPUs), measured (products
        and a stream, the best of this run's back ends), or a JSON file by device, as run.json has them.
    commit
        Of the code under test, for histories; git is asked where it is not given.
    as_json
        One JSON object a line on standard output.
    """

    device: Annotated[tuple[str, ...], Parameter(negative="")] = ("local-task",)
    chip: str = "host"
    only: str = ""
    jobs: int | None = None
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("results")
    csv: Path | None = None
    fresh: Annotated[bool, Parameter(negative="")] = False
    roofline: str = "usual"
    commit: str | None = None
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False

    def items(self, sources: Sequence[str]) -> list[Item]:
        """The operations. Raises TunerError where none are left, UsageError for flags that make no sense."""
        if self.jobs is not None and self.jobs < 1:
            raise UsageError("--jobs must be at least 1")
        if not self.device or len(set(self.device)) < len(self.device):
            raise UsageError("give each device once, and one at least")
        targets = [target_for_device(uri, self.chip) for uri in self.device]
        patterns = patterns_of(self.only)
        found = items_from(sources, own_f8(targets[0]))
        left = [each for each in found if is_found(patterns, each.operation.name)]
        if not left:
            raise TunerError(f"no operation's name has '{self.only}' in it, of {len(found)}")
        return left

    @property
    def rooflines(self) -> Path | None:
        """The file with rooflines; None where none is named."""
        return None if self.roofline in (_USUAL, _MEASURED) else Path(self.roofline)

    @property
    def probe(self) -> bool:
        """Whether they are measured by the back ends."""
        return self.roofline == _MEASURED

    def commit_of_code(self) -> str:
        """What was given, or what git says of the working folder; empty where it says nothing."""
        if self.commit is not None:
            return self.commit
        try:
            done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class How:
    """Under which conditions.

    Attributes
    ----------
    timing
        call: what a caller waits for; device: what the device takes. By default call on processors, device on
        GPUs.
    threads
        Cores that each back end may use; all by default. For processors.
    warm
        Leave the data in the caches; otherwise inputs rotate through copies that no cache holds.
    rotate
        MiB of copies of the inputs that are rotated through; twice the last-level cache by default.
    neighbour
        Let a large product run on the same device for so long before each sample: 50ms is 0.05s.
    streams
        Copies of each operation that run side by side.
    rounds
        Samples of each back end at most.
    sample
        Least length of a sample: 0.02s.
    pause
        Seconds before each sample, for pools of threads that go on turning; 0 where IREE is alone.
    seconds
        For the samples of one operation at most.
    launches
        How often all is loaded anew for one operation, so that what differs between launches is in the
        intervals; once by default, three times where an earlier run takes turns.
    verify
        Compare results with a reference.
    reference
        numpy or torch; by default NumPy, and PyTorch for large operations where it is installed.
    """

    timing: str | None = None
    threads: int | None = None
    warm: Annotated[bool, Parameter(negative="")] = False
    rotate: int | None = None
    neighbour: str | None = None
    streams: int = 1
    rounds: int = 24
    sample: str = "0.02s"
    pause: float = 0.02
    seconds: float = 60.0
    launches: int | None = None
    verify: bool = True
    reference: str | None = None

    def conditions(self, devices: Sequence[str]) -> Conditions:
        """For these devices. Raises UsageError for what makes no sense."""
        on_host = all(each.startswith("local-") for each in devices)
        cores = usable_cores()
        self._check(cores)
        if any(each.startswith("local-") for each in devices) and not on_host:
            raise UsageError(
                "processors and GPUs are timed in different ways", hint="measure them in two runs"
            )
        copies = 0 if self.warm else max(map(rotation_bytes, devices))
        return Conditions(
            timing=cast("Timing", self.timing or ("call" if on_host else "device")),
            threads=(self.threads or cores) if on_host else 0,
            copies_bytes=copies if self.rotate is None else self.rotate << 20,
            neighbour_s=parse_duration(self.neighbour) if self.neighbour else 0.0,
            streams=self.streams,
            batch_s=parse_duration(self.sample),
            pause_s=self.pause,
            rounds=self.rounds,
            seconds=self.seconds,
        )

    def _check(self, cores: int) -> None:
        if self.timing is not None and self.timing not in _TIMINGS:
            raise UsageError(f"there is no timing '{self.timing}'", hint=f"there are: {', '.join(_TIMINGS)}")
        if self.reference is not None and self.reference not in _REFERENCES:
            known = ", ".join(_REFERENCES)
            raise UsageError(f"there is no reference '{self.reference}'", hint=f"there are: {known}")
        if self.reference == TORCH and find_spec("torch") is None:
            raise TunerError("PyTorch is not installed", hint="pip install 'iree-tuner[compare]'")
        if self.threads is not None and not 1 <= self.threads <= cores:
            raise UsageError(f"--threads {self.threads}: this process may use {cores} cores")
        if min(self.streams, self.rounds, self.launches or 1) < 1 or self.seconds <= 0 or self.pause < 0:
            raise UsageError("--streams, --rounds, --launches and --seconds must be positive")
        if self.rotate is not None and (self.warm or self.rotate < 0):
            raise UsageError("--rotate is 0 or more, and does not go with --warm")
