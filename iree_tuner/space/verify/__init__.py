"""Configurations that people and specs write, judged by constraints before anything is compiled.

Finds what a program or a spec carries, and the constraints for its op, its pipeline and its target. Reports
the broken ones, where, and with which values. May import `program`, `space` and `spec`, and what they import.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.space.verify.constraints import ConfigurationFinding, Verified, VerifyReport
    from iree_tuner.space.verify.program import verify_program
    from iree_tuner.space.verify.spec import verify_spec

__all__ = ["ConfigurationFinding", "Verified", "VerifyReport", "verify_program", "verify_spec"]

_HOMES = {
    "ConfigurationFinding": "finding",
    "VerifyReport": "finding",
    "Verified": "finding",
    "verify_program": "program",
    "verify_spec": "spec",
}

__getattr__ = lazily(__name__, _HOMES)
