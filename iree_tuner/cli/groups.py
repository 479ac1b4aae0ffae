"""Groups of options in the help that are the command line's own; the others are in `tuning.options`."""

from __future__ import annotations

from cyclopts import Group

PROGRAM = Group("The program", sort_key=1)
OUTPUT = Group("What comes out", sort_key=7)
