"""Random small programs through `tune`: a result or one clear line, whatever a program consists of."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
from amounts import ALL, amount
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tuning.random_programs import DYNAMIC_SIZE, random_program

from iree_tuner.cli.main import run
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.finals import FinalPlan
from iree_tuner.tuning.lab import Lab

OPTIONS = (
    "--effort", "smoke", "--no-db", "--keep-flags", "--no-profile", "--no-kernels", "--candidates", "2",
    "--jobs", "1", "--json",
)  # fmt: skip
BLAMED = re.compile(r"the default itself is wrong|by default, \S+ (reads uninitialized memory|computes)")
"""What is said of the compiler's own code."""


@pytest.fixture(scope="module")
def lab():
    """The workers of all runs: they start once."""
    with Lab(target_for_device("local-task"), 1) as found:
        yield found


def tuned(text, lab, folder, *options):
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
        # Whatever was tried wins: its code is checked in the program, and the program is compared.
        patch.setattr(FinalPlan, "takes", lambda *_: True)
        patch.setattr(FinalPlan, "most_score", 1e3)
        status = run(["tune", str(program), *OPTIONS, *options, "-o", str(spec)])
    return status, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue().splitlines()


def check(text, dynamic, lab, folder):
    """What holds for every program."""
    status, records, told = tuned(text, lab, folder, *(("--dim", str(DYNAMIC_SIZE)) if dynamic else ()))
    errors = [line for line in told if line.startswith("error: ")]
    assert status in (0, 1), "\n".join([*told, text])
    assert len(errors) == status, "\n".join([*told, text])
    assert not any("Traceback" in line for line in told)
    assert not BLAMED.search("\n".join(told)), "\n".join([*told, text])
    for record in records:
        values = [record[key] for key in ("verdict", "speedup", "interval")]
        assert values.count(None) in (0, 3)
        assert None not in values or record["note"]


@settings(
    max_examples=amount(10, 500), deadline=None, derandomize=not ALL, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)  # fmt: skip
@given(seed=st.integers(0, 2**32 - 1))
def test_any_program_is_tuned_or_refused(seed, lab, tmp_path_factory):
    program = random_program(seed)
    check(program.text, program.dynamic, lab, tmp_path_factory.getbasetemp())
