"""What a program has for kernels to do: its sites, and the executable target that kernels must be for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import hal

from iree_tuner.compiler.worker import Workers, session_for
from iree_tuner.errors import TunerError
from iree_tuner.kernels.kernel import Kernel
from iree_tuner.kernels.site import Site, find_sites
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.targets import Target


@dataclass(frozen=True)
class Place:
    """Where a program computes one problem, with ever more of what follows.

    Attributes:
        sites: without epilogue first.
        functions: names of the functions that compute it, one for each time.
    """

    sites: tuple[Site, ...]
    functions: tuple[str, ...]

    def site_for(self, kernel: Kernel) -> tuple[Site | None, str]:
        """The site with most of the epilogue that a kernel computes; where there is none, why."""
        whys = [kernel.refuses(site.problem) for site in self.sites]
        for site, why in reversed(list(zip(self.sites, whys, strict=True))):
            if not why:
                return site, ""
        return None, whys[0]


@dataclass(frozen=True)
class Places:
    """The places of a program.

    Attributes:
        places: each once, in the order of the program.
        target: the executable target, as text.
    """

    places: tuple[Place, ...]
    target: str


def find_places(program: Program, target: Target, workers: Workers) -> Places:
    """Compile a program as far as preprocessing, in a worker, and look at it.

    Raises:
        CompileError: the program does not parse or compile.
        TunerError: it has no functions, or nothing that is compiled for the target.
    """
    return workers.call(find_here, program.data, program.name, target)


def find_here(data: bytes, name: str, target: Target) -> Places:
    """The part of `find_places` that runs in a worker."""
    session = session_for(target.flags)
    with session.context, ir.Location.unknown():
        module = session.parse(data, name)
        if not list(module.body.operations):
            raise TunerError("the program has no functions", location=name)
        select_target(module, target)
        session.run(module, stop="abi")
        places = _merged(find_sites(module))
        session.run(module, start="abi", stop="executable-sources")
        variants = [
            variant
            for executable in ir.get_ops_of_type(module, hal.ExecutableOp)
            for variant in ir.get_ops_of_type(executable, hal.ExecutableVariantOp)
        ]
        if not variants:
            raise TunerError("the program has no dispatches", location=name)
        return Places(places, str(variants[0].attributes["target"]))


def _merged(found: Sequence[tuple[Site, ...]]) -> tuple[Place, ...]:
    """One place for all that are equal, with and without epilogues."""
    functions: dict[tuple[bytes, ...], list[str]] = {}
    first: dict[tuple[bytes, ...], tuple[Site, ...]] = {}
    for sites in found:
        key = tuple(site.case for site in sites)
        first.setdefault(key, sites)
        functions.setdefault(key, []).append(sites[0].function)
    return tuple(Place(first[key], tuple(functions[key])) for key in first)
