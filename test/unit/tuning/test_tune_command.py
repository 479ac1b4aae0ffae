"""`tune` as a command: what its options become, and the command that a report names."""

import pytest

from iree_tuner.cli import tune
from iree_tuner.cli.main import run
from iree_tuner.errors import TunerError
from iree_tuner.files import of_one_command


@pytest.mark.parametrize(("budget", "profile"), [("60", True), ("59", None)])
def test_a_run_of_a_minute_is_profiled(budget, profile, monkeypatch, capsys, tmp_path):
    """Also if seconds of it were spent before the run began."""

    def tune_program(source, plan, **more):
        plans.append(plan)
        raise TunerError("as planned")

    plans = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tune, "tune_program", tune_program)
    (tmp_path / "m.mlir").write_text("func.func @main(%x: tensor<4xf32>) { return }")
    assert run(["tune", "m.mlir", "--budget", budget, "--no-db"]) == 1
    assert "as planned" in capsys.readouterr().err
    (plan,) = plans
    assert plan.budget_s < int(budget)
    assert plan.profile is profile


@pytest.mark.parametrize(
    ("no_db", "typed", "again"),
    [
        (False, "a b.mlir", "iree-tuner tune --fresh 'a b.mlir' --dim batch=4"),
        (False, "--fresh", "iree-tuner tune --fresh --dim batch=4"),
        (True, "a.mlir", "iree-tuner tune a.mlir --dim batch=4"),
    ],
)
def test_the_command_that_repeats_a_run_is_what_was_typed(no_db, typed, again):
    with of_one_command(["tune", typed, "--dim", "batch=4"]):
        assert tune._again(no_db=no_db) == again
