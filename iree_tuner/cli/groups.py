"""Option groups that only the command line uses. `tuning.options` has the others."""

from __future__ import annotations

from cyclopts import Group

PROGRAM = Group("Program", sort_key=1)
OUTPUT = Group("Output", sort_key=7)
