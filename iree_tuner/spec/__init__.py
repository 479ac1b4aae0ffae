"""Tuning specs: transform-dialect modules that make the compiler use what was found.

Built, linked, checked, embedded and explained as IR objects; text only when saved as `.mlir`. May import
`compiler`, `targets`, `ops` and `space`; knows nothing of searching or measuring.
"""

from iree_tuner.spec.build import build_spec, prologue_for
from iree_tuner.spec.check import SpecProblem, check_against_program, check_spec
from iree_tuner.spec.entry import Provenance, SpecEntry
from iree_tuner.spec.explain import explain
from iree_tuner.spec.io import embed, embed_bytes, load_spec, save_spec
from iree_tuner.spec.link import link_specs

__all__ = [
    "Provenance",
    "SpecEntry",
    "SpecProblem",
    "build_spec",
    "check_against_program",
    "check_spec",
    "embed",
    "embed_bytes",
    "explain",
    "link_specs",
    "load_spec",
    "prologue_for",
    "save_spec",
]
