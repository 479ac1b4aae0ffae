"""`tune --kernels --budget`: what is kept for kernels, and that nothing is begun after the time."""

import math
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.cli import tune as command
from iree_tuner.cli import tune_kernels
from iree_tuner.cli.tune import TuneFlags, tune
from iree_tuner.cli.tune_kernels import Competition, contests_s, kernels_for, tuning_s
from iree_tuner.kernels.bench import Outlook
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.measure.program_run import ProgramRun
from iree_tuner.store import Store
from iree_tuner.targets import parse_target
from iree_tuner.tuning.effort import effort_named

CPU = parse_target("llvm-cpu:host")


class EndedError(Exception):
    """Raised where a test has seen enough."""


def test_half_is_kept_where_there_are_kernels_and_of_much_a_quarter():
    assert tuning_s(80.0, [CGemm()]) == 40.0
    assert tuning_s(240.0, [CGemm()]) == 120.0
    assert tuning_s(400.0, [CGemm()]) == 280.0
    assert tuning_s(800.0, [CGemm()]) == 600.0
    assert tuning_s(80.0, []) == 80.0
    assert tuning_s(None, [CGemm()]) is None


@given(st.floats(-100, 1e5), st.floats(0, 1e4))
def test_contests_leave_time_for_the_program(left_s, look_s):
    found = contests_s(left_s, look_s)
    assert 0.0 <= found <= max(0.0, 0.6001 * left_s)
    if left_s > 0:
        assert found >= 0.25 * left_s * 0.999, "however long the program compiles"
        assert left_s - found >= min(6 * look_s, 0.75 * left_s) * 0.999
    assert contests_s(math.inf, look_s) == math.inf


@pytest.mark.parametrize(("budget", "seconds"), [("40s", 20.0), (None, None)])
def test_tuning_takes_half_and_kernels_the_rest(monkeypatch, tmp_path, budget, seconds):
    seen = {}

    def tuned(*_, **options):
        seen["budget_s"] = options["budget_s"]
        seen["now"] = time.monotonic()
        return SimpleNamespace(run=0, failure="", interrupted=False, entries=(), flags=())

    def held(self, *_):
        seen["until"] = self.until
        raise EndedError

    monkeypatch.setattr(command, "tune_module", tuned)
    monkeypatch.setattr(command, "_save", lambda result, path: path)
    for name in ("how_to_use", "report_result"):
        monkeypatch.setattr(command, name, lambda *_: {})
    monkeypatch.setattr(command, "kernels_for", lambda _: (CGemm(),))
    monkeypatch.setattr(Competition, "hold", held)
    program = tmp_path / "main.mlir"
    program.write_text("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }")
    flags = TuneFlags(budget=budget, no_db=True, kernels=tmp_path / "k.mlir", output=tmp_path / "t.spec.mlir")
    with pytest.raises(EndedError):
        tune(str(program), flags=flags)
    assert seen["budget_s"] == seconds
    if seconds is None:
        assert seen["until"] == math.inf
    else:
        assert seen["now"] < seen["until"] < seen["now"] + 40.0


@pytest.mark.parametrize("left_s", [50.0, -5.0, math.inf])
def test_contests_have_what_is_left(monkeypatch, tmp_path, left_s):
    """Nothing is compiled here: what the rooms are asked for is looked at."""
    seen = {}

    def contests(outlook, lab, *, seconds, records, **_):
        seen["seconds"], seen["run"], seen["fresh"] = seconds, records.run, records.fresh
        return ["a contest"]

    def compared(*_, seconds, **__):
        seen["program_s"] = seconds
        raise EndedError

    for name, value in {
        "look_at": lambda *_: Outlook("", (), ()), "hold_contests": contests, "report_contests": lambda *_: 0,
        "choices_of": lambda _: {"kernels": []}, "with_spec": lambda *_: None, "to_bytecode": lambda _: b"",
        "compare_in_program": compared,
    }.items():  # fmt: skip
        monkeypatch.setattr(tune_kernels, name, value)
    path = tmp_path / "trials.db"
    with Store.open(path) as store:
        run = store.start_run("main.mlir", {})
        store.end_run(run, "done")
    given_target = parse_target("llvm-cpu:host")
    target = SimpleNamespace(given=given_target)
    result = SimpleNamespace(
        program=SimpleNamespace(name="main.mlir"), results=(), spec=None, target=target, run=run, failure=""
    )
    monkeypatch.setattr(tune_kernels, "Lab", NoLab)
    competition = Competition(
        given_target,
        (CGemm(),),
        tmp_path / "k.mlir",
        4,
        effort_named("full"),
        1,
        False,
        path,
        True,
        time.monotonic() + left_s,
    )
    with pytest.raises(EndedError):
        competition.hold("main.mlir", result, Path("t.spec.mlir"), ProgramRun())
    assert seen["run"] == run
    assert seen["fresh"]
    if left_s == math.inf:
        assert (seen["seconds"], seen["program_s"]) == (math.inf, 120.0)
    elif left_s < 0:
        assert (seen["seconds"], seen["program_s"]) == (0.0, 0.0)
    else:
        assert 0.5 * left_s < seen["seconds"] <= 0.6 * left_s
        assert 0.4 * left_s < seen["program_s"] <= 0.5 * left_s
    with Store.open(path, readonly=True) as store:
        (row,) = store.read("SELECT id, state FROM runs")
    assert (row["id"], row["state"]) == (run, "failed")


class NoLab:
    """A lab without workers."""

    def __init__(self, *_):
        self.context = None

    def start(self):
        """Nothing starts."""

    def settle(self):
        """Nothing is starting."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_kernels_are_those_of_the_backend_that_can_be_made(monkeypatch):
    monkeypatch.setattr(CGemm, "missing", lambda _: "")
    assert [each.name for each in kernels_for(CPU)] == ["c_gemm_f32"]
    assert kernels_for(parse_target("hip:gfx942")) == ()
    monkeypatch.setattr(CGemm, "missing", lambda _: "no compiler")
    assert kernels_for(CPU) == ()
