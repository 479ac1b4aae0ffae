"""What `tune` prints after a win, a tie, a loss and a failure, at 80 columns and as JSON: `tune_output/`.

PYTHONPATH=test/unit python test/unit/test_tune_output.py    # writes them anew
"""

import io
import json
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from store.samples import WORKLOAD, trial

from iree_tuner.cli.main import run
from iree_tuner.cli.report import report_result, result_to_json
from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.source import Program
from iree_tuner.result import TuningResult
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import parse_target
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.earlier import EarlierKernels, EarlierSpec
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.flags import FlagChoice, option
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.timeline import SEARCH, Stage, TimeUse, WorkerTimeline
from iree_tuner.tuning.verdict import EarlierVerdict
from iree_tuner.tuning.versions import Change, ComparisonStep

GOLDENS = Path(__file__).parent / "tune_output"
TARGET = parse_target("llvm-cpu:znver4")
TIME = TimeUse(
    (
        Stage("reading the program", 0.0, 2.1), Stage("flags", 2.1, 12.4), Stage("baselines", 12.4, 16.0),
        Stage(SEARCH, 16.0, 71.0), Stage("final comparison", 71.0, 80.2), Stage("verdict", 80.2, 88.0),
    ),
    (
        WorkerTimeline("compiler 0", (("build", 12.4, 50.0),)),
        WorkerTimeline("local-task", (("screen", 50.0, 88.0),)),
    ),
)  # fmt: skip


def compared(speedup, verdict, default_us=1036.2):
    interval = (speedup * 0.97, speedup * 1.03)
    return Comparison(
        default_us, default_us / speedup, speedup, interval, speedup, (speedup,), verdict, pairs=96
    )


def workload(op, loops, share, comparison=None, note="", *, tried=96, entry=False, calls=1):
    described = replace(WORKLOAD, op=op, loops=loops)
    dispatches = (SimpleNamespace(name=f"main_dispatch_0_{op}", calls=SimpleNamespace(count=calls)),)
    return WorkloadResult(
        Task(described, dispatches if calls else ()), share,
        tuple(trial(value, at=5.0) for value in range(tried)), 5120, comparison,
        SpecEntry(described, Configuration(())) if entry else None, note, judged=comparison is not None,
    )  # fmt: skip


def result(*results, speedup=None, verdict="tie", target=TARGET, provided=False, sizes=(), **more):
    whole = speedup and ProgramComparison(
        "main", compared(speedup, verdict, 9120.4), Agreement(True, 0.0), memory_provided=provided,
        by_case=sizes,
    )  # fmt: skip
    entries = () if more.get("note") else tuple(each.entry for each in results if each.entry)
    program = Program("examples/bert.mlir", b"")
    return TuningResult(program, target, results, None, whole, entries=entries, time=TIME, **more)


SIZES = (
    ("batch=1", ProgramComparison("main", compared(1.2, "win"), Agreement(True, 0.0))),
    ("batch=4", ProgramComparison("main", None, Agreement(False, 1.0), error="wrong")),
)
LARGE = workload("matmul", (384, 3072, 768), 0.613, compared(1.42, "win"), entry=True)
SMALL = workload("batch_matmul", (12, 384, 384, 64), 0.082, compared(1.003, "tie", 84.7))
SLOW = replace(
    workload("reduction", (384, 768), 0.2, note="no candidate came close to the default's time"), judged=True
)
FASTER_ALONE = replace(LARGE, weight_us=9000.0)  # it saves 2,662 us
PART = replace(LARGE, weight_us=1036.2)
LEFT = workload("softmax", (12, 384, 384), 0.011, tried=0)
REPLACED = replace(LEFT, share=0.294, replaced_by="kernel", note="replaced by a kernel")
PARTS = workload("attention", (12, 384, 384, 64), 0.294, note="not tuned: out of time", tried=0, calls=0)
LAYERS = (
    *(Change("kernels", "joint_4096_f16", "joint_products", f"layer {n}", times=2) for n in range(32)),
    Change("kernels", "attention_12x384x384x64", "flash rows=64", "", times=32),
    Change("kernels", "attention_12x384x384x64", "flash rows=32", ""),
)
KERNEL = Competitor(
    SimpleNamespace(name="mine", size=5, over=""), (trial(1),), Final(trial(1), compared(1.5, "win"), "")
)
NOISY = replace(compared(1.07, "tie", 9120.4), interval=(0.71, 1.62))
SOURCES = tuple(SimpleNamespace(name=f"{each}s", noun=each) for each in ("kernel", "pipeline"))
TILED = parse_target("llvm-cpu:znver4+data-tiling")
NO_DEFAULT = "the compiler's default fails (run_error): RESOURCE_EXHAUSTED; out of memory"

CASES = {
    "win": (
        result(
            LARGE, SMALL, LEFT, speedup=1.31, verdict="win",
            choices=(
                FlagChoice(TARGET, compared(1.12, "win", 9120.4), changes=(option(TARGET, "data-tiling"),)),
                FlagChoice(TARGET),
            ),
            target=TILED,
            flags=("--iree-opt-data-tiling",), flags_alone=compared(1.12, "win", 9120.4),
        ),
        Path("bert.spec.mlir"),
    ),
    "memory": (
        result(LARGE, speedup=1.31, verdict="win", target=parse_target("cuda:sm_90"), provided=True),
        Path("bert.spec.mlir"),
    ),
    "tie": (result(LARGE, SMALL, LEFT, speedup=1.01), Path("bert.spec.mlir")),
    "uncertain": (
        replace(result(LARGE, speedup=1.07), whole=ProgramComparison("main", NOISY, Agreement(True, 0.0))),
        Path("uncertain.bert.spec.mlir"), None,
    ),
    "faster_alone": (result(FASTER_ALONE, speedup=1.02), Path("bert.spec.mlir")),
    "small_part": (result(PART, speedup=1.05, verdict="win"), Path("bert.spec.mlir")),
    "left_out": (
        result(
            replace(LARGE, entry=None, competitors=(KERNEL,)),
            steps=(ComparisonStep("default flags and kernels", "default flags", compared(0.99, "tie")),),
            sources=SOURCES,
        ),
        Path("bert.spec.mlir"),
    ),
    "no_time": (
        result(
            replace(LEFT, note="not tuned: out of time", share=1.0),
            note="no compiler flags were tried: no time left for another compilation",
            steps=(ComparisonStep("default flags and kernels", "default flags", compared(1.01, "tie")),),
            sources=SOURCES,
        ),
        Path("bert.spec.mlir"),
    ),
    "dynamic": (result(LARGE, speedup=1.2, verdict="win", sizes=SIZES[:1]), Path("bert.spec.mlir")),
    "loss": (
        result(
            LARGE, SMALL, LEFT, note="the spec is not used: the program is slower with it (0.934x)",
            steps=(ComparisonStep("default flags with the spec", "default flags", compared(0.934, "lose")),),
        ),
        Path("bert.spec.mlir"),
    ),
    "wrong": (
        result(LARGE, note="left out, because main_dispatch_0 computes wrong results with it"),
        Path("bert.spec.mlir"),
    ),
    "not_compared": (
        replace(
            result(LARGE, SLOW, note="the whole program was not compared: input 0 has no size"),
            entries=(LARGE.entry,),
        ),
        Path("bert.spec.mlir"),
    ),
    "no_candidate": (result(SLOW), Path("bert.spec.mlir")),
    "changes": (
        replace(
            result(LARGE, SMALL, speedup=1.3, verdict="win"),
            changes=(
                *(Change("kernels", "matmul_384x3072x768", "gemm rows=6 unroll=4"),) * 2,
                Change("pipelines", "", "generalize"),
            ),
            sources=SOURCES,
        ),
        Path("bert.spec.mlir"),
    ),
    "full_size": (
        replace(
            result(LARGE, REPLACED, PARTS, LEFT, speedup=1.3, verdict="win"),
            changes=LAYERS, sources=SOURCES,
        ),
        Path("llama.spec.mlir"), Path("llama.kernels.mlir"),
    ),
    "kernels": (
        result(
            replace(
                LARGE,
                competitors=(
                    Competitor(
                        SimpleNamespace(name="mine", size=5, over=""),
                        (trial(1), trial(2, "run_error", message="no")),
                        Final(trial(1), compared(1.5, "win"), "n"),
                    ),
                    Competitor(
                        SimpleNamespace(name="other", size=7, over="over one op"), (),
                        Final(None, None, "why"),
                    ),
                ),
            ),
            SMALL, speedup=1.3, verdict="win", sizes=SIZES,
            steps=(
                ComparisonStep("a", "b", None, error="wrong"),
                ComparisonStep("a", "b", compared(1.1, "tie"), by_case=SIZES),
            ),
        ),
        Path("bert.spec.mlir"),
    ),
    "wrong_default": (
        replace(
            result(
                replace(LARGE, comparison=compared(0.93, "lose"), corrects=True), SMALL, speedup=0.97,
                verdict="lose",
            ),
            note="corrected, because the compiler's default computes wrong results: matmul_384x3072x768",
        ),
        Path("bert.spec.mlir"),
    ),
    "failure": (result(workload("matmul", (384, 3072, 768), 1.0, note=NO_DEFAULT, tried=0)), None),
}  # fmt: skip


SAME, NOISE = (
    replace(LARGE, entry=None, itself=True, comparison=compared(*each))
    for each in ((1.01, "tie"), (1.3, "win"))
)
CASES["self_test"] = (result(SAME, SAME), Path("bert.spec.mlir"))
CASES["noisy_self_test"] = (result(SAME, NOISE), Path("bert.spec.mlir"))
EARLIER = (
    Change("earlier_spec", "", "bert.spec.mlir"), Change("earlier_kernels", "", "bert.kernels.mlir"),
)  # fmt: skip
CASES["kept"] = (
    replace(
        result(LARGE, SMALL, LEFT, speedup=4.4, verdict="win"), entries=(), changes=EARLIER,
        sources=(EarlierSpec(), EarlierKernels()),
        earlier=EarlierVerdict("kept", compared(0.991, "tie", 2072.8)),
    ),
    Path("bert.spec.mlir"), Path("bert.kernels.mlir"),
)  # fmt: skip
CASES["beaten"] = (
    replace(CASES["win"][0], earlier=EarlierVerdict("beaten", compared(1.12, "win", 7797.5))),
    Path("bert.spec.mlir"),
)
CASES["interrupted"] = (replace(CASES["win"][0], interrupted=True), Path("bert.spec.mlir"))
VERBOSE = ("win", "kernels", "full_size")


STAYS = dict.fromkeys(("uncertain", "left_out", "self_test", "kept"), (Path("bert.spec.mlir"),))
"""Specs that were there before, and are not replaced."""


def printed(name, *, verbose=False):
    found, path = CASES[name][:2]
    out = io.StringIO()
    console = Console(file=out, width=80, highlight=False, markup=False)
    report_result(console, *CASES[name], stays=STAYS.get(name, ()), verbose=verbose)
    if path is None:
        out.write(f"error: not judged: {found.why_not_judged}; no file was written\n")
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


@pytest.mark.parametrize("name", CASES)
def test_a_verdict_comes_with_its_comparison(name):
    """In JSON verdict, speedup and interval are all there, or all null with a reason."""
    for record in result_to_json(*CASES[name]):
        values = [record[key] for key in ("verdict", "speedup", "interval")]
        assert values.count(None) in (0, 3)
        assert None not in values or record["note"]


def said(found):
    out = io.StringIO()
    report_result(Console(file=out, width=120, highlight=False, markup=False), found, Path("a.mlir"))
    return out.getvalue()


def test_a_program_that_gains_as_much_as_its_workloads_needs_no_reason():
    assert "workloads that win" in said(CASES["small_part"][0])
    assert "workloads that win" not in said(result(PART, speedup=1.43, verdict="win"))


def test_dispatches_that_are_faster_together_are_not_more_than_the_run_time():
    """Measured alone, what was skipped may take longer than the program."""
    parts = [replace(LEFT, share=0.9), replace(LEFT, share=0.56)]
    assert "2 workloads skipped (100.0% of the run time)" in said(result(*parts))


def test_times_that_contradict_the_speedup_are_explained():
    found = CASES["win"][0]
    assert "medians" not in said(found)
    odd = replace(found.whole, comparison=replace(found.comparison, default_us=165.7, candidate_us=162.1))
    assert "the times are medians" in said(replace(found, whole=odd))


def as_json(name):
    return "".join(f"{json.dumps(each, sort_keys=True)}\n" for each in result_to_json(*CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_json_is_what_programs_have_read(name):
    assert as_json(name) == (GOLDENS / f"{name}.jsonl").read_text(), "see the first lines of this file"


@pytest.mark.parametrize("name", CASES)
def test_output_is_what_people_have_read(name):
    told = printed(name)
    assert told == (GOLDENS / f"{name}.txt").read_text(), "see the first lines of this file"
    commands = [
        line for line in told.splitlines() if line.startswith("  iree-")
    ]  # to be copied: never broken
    ours = [line for line in told.splitlines() if line not in commands and not line.startswith("error:")]
    assert max(map(len, ours)) <= 80


def nothing(folder):
    """What is printed for a program without dispatches, and the JSON."""
    program = folder / "nothing.mlir"
    program.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
    with chdir(folder), redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert run(["tune", program.name, "--no-db", "--json"]) == 1
    assert list(folder.iterdir()) == [program]
    return err.getvalue(), out.getvalue()


def test_a_program_without_dispatches_leaves_no_file(tmp_path):
    said, record = nothing(tmp_path)
    assert said == (GOLDENS / "nothing.txt").read_text(), "see the first lines of this file"
    assert record == (GOLDENS / "nothing.jsonl").read_text()


@pytest.mark.parametrize("name", VERBOSE)
def test_verbose_output_says_how_it_was_found(name):
    told = printed(name, verbose=True)
    assert told == (GOLDENS / f"{name}.verbose.txt").read_text(), "see the first lines of this file"
    assert set(printed(name).splitlines()) <= set(told.splitlines()), "it only says more"


if __name__ == "__main__":
    GOLDENS.mkdir(exist_ok=True)
    for each in CASES:
        (GOLDENS / f"{each}.txt").write_text(printed(each))
        (GOLDENS / f"{each}.jsonl").write_text(as_json(each))
    with tempfile.TemporaryDirectory() as made:
        for kind, text in zip(("txt", "jsonl"), nothing(Path(made)), strict=True):
            (GOLDENS / f"nothing.{kind}").write_text(text)
    for each in VERBOSE:
        (GOLDENS / f"{each}.verbose.txt").write_text(printed(each, verbose=True))
