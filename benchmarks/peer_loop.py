"""Tune the way a tuner made of processes does: for each candidate an `iree-compile` and an
`iree-benchmark-module` process.

As the SHARK tuner works: compiles run two at a time from a file at `executable-sources` with the
configuration in it; what came out byte for byte twice is dropped; then the modules run one at a time, with
three repetitions and the tool's defaults. It starts the programs themselves, not pip's Python scripts of the
same names (amdsharktuner/libtuner.py: `find_tool`, `benchmark_module`).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from iree.compiler.tools.binaries import find_tool
from iree.runtime import benchmark_exe

COMPILERS = 2
REPETITIONS = 3
TIMEOUT_S = 60.0
_TO_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

PROTOCOL = (
    f"for each candidate an iree-compile process on a file at executable-sources, {COMPILERS} at a time "
    "(writing the file is not counted); equal modules are dropped; then an iree-benchmark-module process "
    f"each, one at a time, {REPETITIONS} repetitions of at least 0.5 s, always on the same buffer; no "
    "check of results, no records"
)


@dataclass(frozen=True)
class PeerTrial:
    """What came of one candidate: its time by the tool, or None when it has none."""

    end: Literal["ok", "compile failed", "run failed", "duplicate"]
    time_us: float | None = None


@dataclass(frozen=True)
class PeerLoop:
    """What all candidates share: compiler flags, and what is run with which inputs where."""

    flags: tuple[str, ...]
    function: str
    inputs: tuple[str, ...]
    device: str
    compilers: int = COMPILERS

    def run(self, sources: Sequence[Path]) -> list[PeerTrial]:
        """Compile all, then time each; trials in the order of the sources. Modules appear beside them."""
        with ThreadPoolExecutor(self.compilers) as pool:
            compiled = list(pool.map(self._compile, sources))
        seen: set[bytes] = set()
        trials: list[PeerTrial] = []
        for vmfb in compiled:
            trials.append(self._trial(vmfb, seen) if vmfb else PeerTrial("compile failed"))
        return trials

    def _compile(self, source: Path) -> Path | None:
        vmfb = source.with_suffix(".vmfb")
        start = ("--compile-from=executable-sources", str(source), "-o", str(vmfb))
        return vmfb if _output(find_tool("iree-compile"), *start, *self.flags) is not None else None

    def _trial(self, vmfb: Path, seen: set[bytes]) -> PeerTrial:
        digest = hashlib.md5(vmfb.read_bytes()).digest()
        if digest in seen:
            return PeerTrial("duplicate")
        seen.add(digest)
        out = _output(
            benchmark_exe(), f"--module={vmfb}", f"--device={self.device}",
            f"--function={self.function}", *(f"--input={each}" for each in self.inputs),
            f"--benchmark_repetitions={REPETITIONS}", "--benchmark_format=json",
        )  # fmt: skip
        if out is None:
            return PeerTrial("run failed")
        found = json.loads(out[out.index("{") :])["benchmarks"]
        (mean,) = (item for item in found if item.get("aggregate_name") == "mean")
        return PeerTrial("ok", mean["real_time"] * _TO_US[mean["time_unit"]])


def _output(program: str, *arguments: str) -> str | None:
    """What a process printed; None when it failed or took too long."""
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return done.stdout
