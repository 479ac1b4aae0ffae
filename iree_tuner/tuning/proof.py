"""Proof that a spec reaches the program it was made for. One that silently never applies is worth nothing."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.program.source import Program
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import MatcherHits, check_against_program
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.tuning.lab import Lab


def reaching(entries: Sequence[SpecEntry], program: Program, lab: Lab) -> tuple[list[SpecEntry], list[str]]:
    """The entries that reach their dispatches in the whole program, and what is to be said of the others.

    The program is compiled to `executable-configurations` with the spec inside, as a user would.

    Raises:
        TunerError: the compiler does not survive the spec.
    """
    if not entries:
        return [], []
    spec = build_spec(entries, lab.context)
    found = check_against_program(spec, program.data, lab.target, name=program.name, workers=lab.compilers)
    notes = [str(problem) for problem in found.problems]
    # Matchers stand in the order of their entries.
    paired = zip(entries, found.matchers, strict=True)
    return [entry for entry, hits in paired if _arrives(hits)], notes


def _arrives(hits: MatcherHits) -> bool:
    return bool(hits.hits) and all(not hit.ignored for hit in hits.hits)
