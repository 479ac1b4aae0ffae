"""`iree-tuner spec shipped`: list the specs that ship."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.output import Json, answers, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.compiler.context import new_context
from iree_tuner.errors import UsageError
from iree_tuner.spec.explain import ExplainedEntry, explain
from iree_tuner.spec.io import load_spec, shipped_specs
from iree_tuner.targets.registry import kinds


def shipped(
    *,
    backend: Annotated[
        str | None, Parameter(help="List only the specs for this backend: llvm-cpu, cuda, hip, vulkan.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the specs that ship, with their workloads, hardware and measured speedup.

    The speedup is the geometric mean over a spec's workloads.

    Example: `iree-tuner spec shipped --backend cuda`

    Parameters
    ----------
    as_json
        Print JSON, one object per spec.
    """
    backends = [name for name, kind in kinds().items() if kind.usual]
    if backend is not None and backend not in backends:
        raise UsageError(f"unknown backend '{backend}'", hint=f"one of: {', '.join(backends)}")
    context = new_context()
    names = ("backend", "spec", "workloads", "speedup", "measured on", "date")
    listed = table(*names, words=("backend", "spec", "measured on"))
    for each in (backend,) if backend else backends:
        for path in shipped_specs(each):
            record = _record(each, path, explain(load_spec(path, context)))
            if as_json:
                print_json(asdict(record))
            listed.add_row(
                each, _below(path, each), str(record.workloads), f"{record.speedup:.2f}x",
                "; ".join(record.chips), ", ".join(record.dates),
            )  # fmt: skip
    if not as_json:
        print_table(answers, listed, spare=("date",), otherwise="no specs ship for this backend")


def _below(path: Path, backend: str) -> str:
    return "/".join(path.parts[len(path.parts) - path.parts[::-1].index(backend) :])


@dataclass(frozen=True)
class _Shipped:
    """A spec that ships; `speedup` is the geometric mean over its workloads."""

    backend: str
    spec: str
    workloads: int
    speedup: float
    chips: tuple[str, ...]
    dates: tuple[str, ...]
    compilers: tuple[str, ...]


def _record(backend: str, path: Path, rows: Sequence[ExplainedEntry]) -> _Shipped:
    told = [row.provenance for row in rows if row.provenance is not None]
    gains = [math.log(each.speedup) for each in told]
    speedup = math.exp(sum(gains) / len(gains)) if gains else 1.0
    facts = (tuple(sorted({getattr(each, name) for each in told})) for name in ("chip", "date", "compiler"))
    return _Shipped(backend, str(path), len(rows), speedup, *facts)
