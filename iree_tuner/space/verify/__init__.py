"""Configurations that people and specs write, judged by constraints before anything is compiled.

Finds what a program or a spec carries, and the constraints for its op, its pipeline and its target. Reports
the broken ones, where, and with which values. May import `program`, `space` and `spec`, and what they import.
"""

from iree_tuner.space.verify.constraints import verify_program

__all__ = ["verify_program"]
