"""What `suite run` and `suite compare` have in common: devices, operations, conditions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.conditions import Conditions, Timing
from iree_tuner.suite.element_types import own_f8
from iree_tuner.suite.item import Item, items_from
from iree_tuner.suite.patterns import is_found, patterns_of
from iree_tuner.suite.plan import Plan
from iree_tuner.suite.references import TORCH
from iree_tuner.suite.site import Site
from iree_tuner.tuning.options import DATABASE, MEASURING, ClusterOptions, Duration, at_least

_USUAL, _MEASURED = "usual", "measured"
CHECKING = Group("How it is checked", sort_key=5.5)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SuiteOptions(ClusterOptions):
    """Under which conditions operations are timed.

    Attributes
    ----------
    only
        Regular expressions of operations' names, joined by commas: those that one finds take part.
    fresh
        Measure again what the folder has.
    roofline
        What the device could do: usual (measured on processors, data sheets of GPUs), measured (products
        and a stream, the best of this run's back ends), or a JSON file by device, as run.json has them.
    commit
        Of the code under test, for histories; git is asked where it is not given.
    timing
        call: what a caller waits for; device: what the device takes. By default call on processors, device on
        GPUs.
    threads
        Cores that each back end may use; all by default. For processors.
    warm
        Leave the data in the caches; otherwise inputs rotate through copies that no cache holds.
    rotate
        MiB of copies of the inputs that are rotated through; twice the last-level cache by default.
    neighbour_s
        Let a large product run on the same device for so long before each sample: 50ms is 0.05s.
    streams
        Copies of each operation that run side by side.
    rounds
        Samples of each back end at most.
    sample_s
        Least length of a sample: 0.02s.
    pause_s
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

    only: str = ""
    fresh: Annotated[bool, Parameter(negative="", group=DATABASE)] = False
    commit: Annotated[str | None, Parameter(group=DATABASE)] = None
    timing: Annotated[Timing | None, Parameter(group=MEASURING)] = None
    threads: Annotated[int | None, Parameter(group=MEASURING)] = None
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False
    rotate: Annotated[int | None, Parameter(group=MEASURING)] = None
    neighbour_s: Annotated[Duration, Parameter(name="--neighbour", group=MEASURING)] = None
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
        """Raises UsageError for what makes no sense, TunerError for what is not installed."""
        super().__post_init__()
        at_least(1, threads=self.threads, streams=self.streams, rounds=self.rounds, launches=self.launches)
        if self.seconds <= 0 or self.pause_s < 0:
            raise UsageError("seconds must be above 0, and pause at least 0")
        if self.rotate is not None and (self.warm or self.rotate < 0):
            raise UsageError("--rotate is 0 or more, and does not go with --warm")
        if any(map(_is_host, self.devices)) and not self._on_host:
            raise UsageError(
                "processors and GPUs are timed in different ways", hint="measure them in two runs"
            )
        if self.reference == TORCH and find_spec("torch") is None:
            raise TunerError("PyTorch is not installed", hint="pip install 'iree-tuner[compare]'")

    def plan(self, sources: Sequence[str], folder: Path, site: Site) -> Plan:
        """A run of these operations on IREE's default under these conditions.

        Raises:
            TunerError: no operation is left, or what names them cannot be read.
        """
        return Plan(
            name=" ".join(sources),
            items=self.items(sources, site),
            devices=self.devices,
            folder=folder,
            conditions=self.conditions(site),
            chip=self.chip,
            flags=self.flags,
            verify=self.verify,
            reference=self.reference,
            rooflines=None if self.roofline in (_USUAL, _MEASURED) else Path(self.roofline),
            probe=self.roofline == _MEASURED,
            commit=self._commit_of_code(),
            fresh=self.fresh,
            jobs=self.jobs,
            launches=self.launches or 1,
        )

    def items(self, sources: Sequence[str], site: Site) -> list[Item]:
        """The operations. Raises TunerError where none are left."""
        first = self.on(site.target(site.places(self.devices)[0], self.chip))
        patterns = patterns_of(self.only)
        found = items_from(sources, own_f8(first))
        left = [each for each in found if is_found(patterns, each.operation.name)]
        if not left:
            raise TunerError(f"no operation's name has '{self.only}' in it, of {len(found)}")
        return left

    def conditions(self, site: Site) -> Conditions:
        """Those of the samples. Raises UsageError for more threads than a device's host has cores."""
        facts = [site.facts(each) for each in site.places(self.devices)]
        copies = 0 if self.warm else max(each.rotation_bytes for each in facts)
        cores = min(each.cores for each in facts)
        if self.threads is not None and self.threads > cores:
            raise UsageError(f"--threads {self.threads}: a process there may use {cores} cores")
        return Conditions(
            timing=self.timing or ("call" if self._on_host else "device"),
            threads=(self.threads or cores) if self._on_host else 0,
            copies_bytes=copies if self.rotate is None else self.rotate << 20,
            neighbour_s=self.neighbour_s or 0.0,
            streams=self.streams,
            batch_s=self.sample_s or 0.0,
            pause_s=self.pause_s,
            rounds=self.rounds,
            seconds=self.seconds,
        )

    @property
    def _on_host(self) -> bool:
        return all(map(_is_host, self.devices))

    def _commit_of_code(self) -> str:
        """What was given, or what git says of the working folder; empty where it says nothing."""
        if self.commit is not None:
            return self.commit
        try:
            done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""


def _is_host(device: str) -> bool:
    return device.startswith("local-")
