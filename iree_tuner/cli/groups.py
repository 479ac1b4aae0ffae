"""How options are grouped in the help, in this order."""

from __future__ import annotations

from cyclopts import Group

PROGRAM = Group.create_ordered("The program")
DEVICE = Group.create_ordered("Where it runs")
AMOUNT = Group.create_ordered("How much is tried")
CANDIDATES = Group.create_ordered("What is tried")
MEASURING = Group.create_ordered("How it is measured")
DATABASE = Group.create_ordered("What is kept of it")
OUTPUT = Group.create_ordered("What comes out")
