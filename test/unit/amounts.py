"""How much a test does by default, and how much with `--all` (docs: CONTRIBUTING.md, "What runs when")."""

import os

ALL = os.environ.get("IREE_TUNER_TEST_ALL") == "1"
"""Set by `python test/run.py --all`; the environment reaches xdist's workers before they collect."""


def amount(few, many):
    """`few` by default, `many` with `--all`: of kills, faults, seeds, examples."""
    return many if ALL else few


def some(cases, every):
    """Of a list of cases, all with `--all`, and by default the first of so many."""
    return list(cases) if ALL else list(cases)[::every]
