"""Specs as a place to start from: what an earlier run chose for a workload, maybe on another machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.spec.canonical import yielded_constants
from iree_tuner.spec.entry import read_workload_key
from iree_tuner.spec.grammar import pairs
from iree_tuner.spec.io import load_spec


@dataclass(frozen=True)
class Starter:
    """A root op's configuration, printed, as specs and the compiler write it."""

    lowering_config: str
    translation_info: str


def shipped_specs(backend: str) -> tuple[Path, ...]:
    """The specs that come with this package for a compiler backend."""
    package = Path(__file__).resolve().parent.parent
    # In a wheel they are inside the package, in a checkout next to it.
    folders = (package / "_specs" / backend, package.parent / "specs" / backend)
    found = next((folder for folder in folders if folder.is_dir()), None)
    return () if found is None else tuple(sorted(found.rglob("*.mlir")))


def read_starters(paths: Iterable[Path], context: ir.Context) -> dict[str, tuple[Starter, ...]]:
    """Configurations by workload key; specs that name no workloads, such as other projects', have none.

    Raises:
        TunerError: a file that is not a spec.
    """
    found: dict[str, tuple[Starter, ...]] = {}
    for path in paths:
        module = load_spec(path, context)
        for pair in pairs(module):
            key = read_workload_key(pair.matcher_op) if pair.matcher_op is not None else None
            if key is None or pair.matcher_op is None:
                continue
            for constant in yielded_constants(pair.matcher_op):
                value = constant.attributes["value"]
                if isinstance(value, iree_codegen.CompilationInfoAttr):
                    starter = Starter(str(value.lowering_config), str(value.translation_info))
                    found[key] = (*found.get(key, ()), starter)
    return found
