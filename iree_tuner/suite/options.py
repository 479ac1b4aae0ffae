"""The options that `suite run` and `suite compare` share: devices, operations, conditions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.backends.backend import Conditions, Timing
from iree_tuner.suite.exact import TORCH
from iree_tuner.suite.plan import Item, SuitePlan, items_from
from iree_tuner.suite.scalars import own_f8
from iree_tuner.suite.site import Hosts
from iree_tuner.suite.suite_file import is_found, patterns_of
from iree_tuner.targets import on_host
from iree_tuner.tuning.options import DATABASE, MEASURING, ClusterOptions, Duration, at_least

_USUAL, _MEASURED = "usual", "measured"
CHECKING = Group("Verification", sort_key=5.5)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SuiteOptions(ClusterOptions):
    """The conditions under which operations are measured.

    Attributes
    ----------
    only
        Measure only operations whose names match one of these regular expressions, separated by commas.
    fresh
        Measure again even if the folder has results.
    roofline
        Source of the roofline. usual: measured on CPUs, data sheets for GPUs. measured: the best of this
        run's back ends on matrix products and a memory stream. Or a JSON file by device, as in run.json.
    commit
        Commit of the code under test, for histories. Default: as git says.
    timing
        call: the time that a caller waits. device: the time that the device computes. Default: call on CPUs,
        device on GPUs.
    threads
        Number of cores per back end, on CPUs. Default: all.
    warm
        Measure with warm caches. Default: cold caches, by rotating inputs through more memory than the caches
        hold.
    rotate
        Size of the memory to rotate through, in MiB. Default: twice the last-level cache.
    background_load_s
        Run a large matrix product on the device for this long before each sample: 0.05s. Default: no load.
    streams
        Number of concurrent copies of each operation.
    rounds
        Maximum number of samples per back end.
    sample_s
        Minimum duration of a sample: 0.02s.
    pause_s
        Pause before each sample in seconds, so that idle threads of the previous library go to sleep. 0 if
        only IREE is measured.
    seconds
        Time limit for the samples of one operation, in seconds.
    launches
        Number of process launches per operation, so that confidence intervals include differences between
        launches. Default: 1, or 3 with --against.
    verify
        Compare the results with a reference.
    reference
        Library that computes the reference: numpy or torch. Default: NumPy, or PyTorch for large operations
        if it is installed.
    """

    only: str = ""
    fresh: Annotated[bool, Parameter(negative="", group=DATABASE)] = False
    commit: Annotated[str | None, Parameter(group=DATABASE)] = None
    timing: Annotated[Timing | None, Parameter(group=MEASURING)] = None
    threads: Annotated[int | None, Parameter(group=MEASURING)] = None
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False
    rotate: Annotated[int | None, Parameter(group=MEASURING)] = None
    background_load_s: Annotated[Duration, Parameter(name="--background-load", group=MEASURING)] = None
    streams: Annotated[int, Parameter(group=MEASURING)] = 1
    rounds: Annotated[int, Parameter(group=MEASURING)] = 24
    sample_s: Annotated[Duration, Parameter(name="--sample", group=MEASURING)] = 0.02
    pause_s: Annotated[float, Parameter(name="--pause", group=MEASURING)] = 0.02
    seconds: Annotated[float, Parameter(group=MEASURING)] = 60.0
    launches: Annotated[int | None, Parameter(group=MEASURING)] = None
    roofline: Annotated[str, Parameter(group=MEASURING)] = _USUAL
    verify: Annotated[bool, Parameter(group=CHECKING)] = True
    reference: Annotated[Literal["numpy", "torch"] | None, Parameter(group=CHECKING)] = None

    def __post_init__(self) -> None:
        """Raise UsageError for values out of range, TunerError for a library that is not installed."""
        super().__post_init__()
        at_least(1, threads=self.threads, streams=self.streams, rounds=self.rounds, launches=self.launches)
        if self.seconds <= 0 or self.pause_s < 0:
            raise UsageError("seconds must be positive, and pause must not be negative")
        if self.rotate is not None and (self.warm or self.rotate < 0):
            raise UsageError("--rotate must not be negative, and excludes --warm")
        if any(map(on_host, self.devices)) and not self._on_host:
            raise UsageError(
                "a run cannot have both CPUs and GPUs, which are measured in different ways",
                hint="measure them in two runs",
            )
        if self.reference == TORCH and find_spec("torch") is None:
            raise TunerError("PyTorch is not installed", hint="pip install 'iree-tuner[compare]'")

    def plan(self, sources: Sequence[str], folder: Path, site: Hosts) -> SuitePlan:
        """Plan a run of these operations on IREE without tuning under these conditions.

        Raises:
            TunerError: no operation is left, or their names cannot be read.
        """
        return SuitePlan(
            " ".join(sources), self.items(sources, site), self.devices, folder, self.conditions(site),
            self.chip, self.flags, verify=self.verify, reference=self.reference,
            launches=self.launches or 1,
            rooflines=None if self.roofline in (_USUAL, _MEASURED) else Path(self.roofline),
            probe=self.roofline == _MEASURED, commit=self._commit_of_code(), fresh=self.fresh, jobs=self.jobs,
        )  # fmt: skip

    def items(self, sources: Sequence[str], site: Hosts) -> list[Item]:
        """The operations. Raises TunerError if none are left."""
        first = self.on(site.target(site.places(self.devices)[0], self.chip))
        patterns = patterns_of(self.only)
        found = items_from(sources, own_f8(first))
        left = [each for each in found if is_found(patterns, each.operation.name)]
        if not left:
            raise TunerError(f"none of {len(found)} operations matches '{self.only}'")
        return left

    def conditions(self, site: Hosts) -> Conditions:
        """The conditions of the samples. Raises UsageError for more threads than a host has cores."""
        facts = [site.facts(each) for each in site.places(self.devices)]
        copies = 0 if self.warm else max(each.rotation_bytes for each in facts)
        cores = min(each.cores for each in facts)
        if self.threads is not None and self.threads > cores:
            raise UsageError(f"--threads is {self.threads}, but a process there may use only {cores} cores")
        return Conditions(
            timing=self.timing or ("call" if self._on_host else "device"),
            threads=(self.threads or cores) if self._on_host else 0,
            copies_bytes=copies if self.rotate is None else self.rotate << 20,
            background_load_s=self.background_load_s or 0.0, streams=self.streams,
            batch_s=self.sample_s or 0.0, pause_s=self.pause_s, rounds=self.rounds, seconds=self.seconds,
        )  # fmt: skip

    @property
    def _on_host(self) -> bool:
        return all(map(on_host, self.devices))

    def _commit_of_code(self) -> str:
        """The given commit, or git's HEAD in the working folder. Empty without both."""
        if self.commit is not None:
            return self.commit
        try:
            done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""
