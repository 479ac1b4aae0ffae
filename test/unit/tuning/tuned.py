"""The command `tune` on a program's text, with workers that live longer than it."""

import contextlib
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from iree_tuner.cli.main import run
from iree_tuner.tuning import engine
from iree_tuner.tuning.finals import FinalPlan
from iree_tuner.tuning.options import EFFORTS

OPTIONS = (
    "--effort", "smoke", "--no-db", "--keep-flags", "--no-profile", "--no-kernels", "--candidates", "1",
    "--jobs", "1", "--json",
)  # fmt: skip
BLAMED = re.compile(r"the default itself is wrong|by default, \S+ (reads uninitialized memory|computes)")
"""What is said of the compiler's own code."""

QUICK = replace(EFFORTS["smoke"], rounds=3, program_rounds=3)
"""The verdicts do not matter."""


def tuned(text, lab, folder, *options, wins=True):
    """The status of `tune`, its objects, and the lines on standard error."""
    program, spec = Path(folder) / "p.mlir", Path(folder) / "p.spec.mlir"
    program.write_text(text)
    out, err = io.StringIO(), io.StringIO()

    @contextlib.contextmanager
    def kept(*_, **__):
        yield lab

    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr("iree_tuner.tune.lab_for", kept)
        patch.setitem(EFFORTS, "smoke", QUICK)
        # If it is to win, whatever was tried is checked in the program, and the program is compared.
        patch.setattr(FinalPlan, "takes", lambda *_: wins)
        patch.setattr(FinalPlan, "most_score", 1e3)
        if wins:
            patch.setattr(engine, "_REJECT_AT", math.inf)
        status = run(["tune", str(program), *OPTIONS, *options, "-o", str(spec)])
    return status, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue().splitlines()
