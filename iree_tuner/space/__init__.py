"""Search spaces: constraint ops in, assignments of their knobs out, and the attributes that these stand for.

A space is always an `iree_codegen.smt.constraints` op: built here if the compiler emits none, and always
interpreted here. May import `compiler`, `targets` and `ops`; knows nothing of search.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.space.build import build_space, build_spaces
    from iree_tuner.space.configuration import Assignment, Configuration, OpConfiguration
    from iree_tuner.space.space import Knob, Space

__all__ = ["Assignment", "Configuration", "Knob", "OpConfiguration", "Space", "build_space", "build_spaces"]

_HOMES = {
    "Assignment": "configuration",
    "Configuration": "configuration",
    "Knob": "space",
    "OpConfiguration": "configuration",
    "Space": "space",
    "build_space": "build",
    "build_spaces": "build",
}

__getattr__ = lazily(__name__, _HOMES)
