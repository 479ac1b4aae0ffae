"""The result of an earlier run, in files that are replaced only by a result that wins against it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.worker import Calls
from iree_tuner.files import write
from iree_tuner.ops.workload import Workload
from iree_tuner.spec.entry import read_flags, read_workload_key
from iree_tuner.spec.external import SPEC_FLAG, located
from iree_tuner.spec.grammar import pairs
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.versions import Change, Compiling, ProgramVersion


class EarlierSpec(CandidateSource):
    """The spec of an earlier run, with the flags that it records."""

    name = "earlier_spec"
    noun = "earlier spec"

    def usual(self, backend: str) -> None:
        """Only commands that may replace a result have it."""

    def flags(self, changes: Sequence[Change]) -> tuple[str, ...]:
        return tuple(flag for each in changes for flag in cast("_Spec", each.made).flags)

    def specs(self, changes: Sequence[Change]) -> Sequence[bytes]:
        return [cast("_Spec", each.made).spec for each in changes]


class EarlierKernels(CandidateSource):
    """The external kernels of an earlier run."""

    name = "earlier_kernels"
    noun = "earlier kernels"

    def usual(self, backend: str) -> None:
        """As of `EarlierSpec`."""

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        for each in changes:
            path = folder / f"earlier_{each.code[:16]}.mlir"
            write(path, cast("bytes", each.made))
            to = replace(to, target=with_flags(to.target, (f"{SPEC_FLAG}={path}",)))
        return to


@dataclass(frozen=True)
class _Spec:
    spec: bytes
    flags: tuple[str, ...]  # that the target does not have


@dataclass(frozen=True)
class EarlierResult:
    """An earlier result as a version of the program."""

    path: Path  # of its spec
    kernels: Path | None  # of its kernels' spec
    version: ProgramVersion
    workloads: frozenset[str]  # keys of those that the spec configures

    @property
    def sources(self) -> tuple[CandidateSource, ...]:
        """The sources of the version's changes."""
        return EarlierSpec(), EarlierKernels()

    def configures(self, workloads: Sequence[Workload]) -> bool:
        """Whether the spec configures all of these."""
        return self.workloads.issuperset(each.key for each in workloads)


def read_earlier(path: Path, kernels: Path | None, target: Target) -> EarlierResult | None:
    """Read an earlier result for a target; None for an empty spec, which runs write that find nothing.

    Raises TunerError if the files are not such specs.
    """
    spec = load_spec(path, new_context())
    flags = tuple(flag for flag in read_flags(spec) if flag not in target.flags)
    data = to_bytecode(spec)
    changes = [Change(EarlierSpec.name, "", path.name, _digest(data), _Spec(data, flags))]
    if kernels is not None:
        text = str(located(kernels, new_context())).encode()
        changes.append(Change(EarlierKernels.name, "", kernels.name, _digest(text), text))
    every = pairs(spec)
    if not (every or flags or kernels):
        return None
    keys = (read_workload_key(each.matcher_op) for each in every if each.matcher_op is not None)
    version = ProgramVersion("the earlier result", target, (), tuple(changes))
    return EarlierResult(path, kernels, version, frozenset(key for key in keys if key))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
