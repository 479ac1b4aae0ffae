"""What new users did, and what they are told: a line, a status, and nothing is lost (`Case`)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from amounts import some
from once import each_once  # noqa: F401 (a fixture)
from programs import ZERO_MATMUL

import iree_tuner as iree_tuner_
from iree_tuner import TunerError, UsageError
from iree_tuner.cli.main import run
from iree_tuner.compiler.worker import Workers
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.workloads import is_judged, note_of

SCALED = """
func.func @main(%a: tensor<SIZExSIZExf32>, %b: tensor<SIZExSIZExf32>) -> tensor<SIZExSIZExf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<SIZExSIZExf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<SIZExSIZExf32>) -> tensor<SIZExSIZExf32>
  %m = linalg.matmul ins(%a, %b : tensor<SIZExSIZExf32>, tensor<SIZExSIZExf32>)
    outs(%f : tensor<SIZExSIZExf32>) -> tensor<SIZExSIZExf32>
  return %m : tensor<SIZExSIZExf32>
}
"""
DYNAMIC = """
func.func @main(%a: tensor<?x64xf32>, %b: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%m) : tensor<?x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x64xf32>)
    outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}
"""
OTHER_SPEC = Path(__file__).parents[1] / "spec" / "Inputs" / "other_matmul.jsonl"
TRIALS = Path(__file__).parents[1] / "store" / "Inputs" / "trials.jsonl"
INPUT = "the output would overwrite an input (name another output)"


@dataclass(frozen=True)
class Case:
    """A command as it was typed.

    Attributes:
        command: without `iree-tuner`.
        status: that it ends with.
        says: its last line on standard error, or a part of it.
    """

    command: str
    status: int
    says: str


CASES = {
    "A1": Case("tune p.mlir -o p.mlir --no-db", 2, f"p.mlir: {INPUT}"),
    "A1, by another name": Case("tune p.mlir -o link.mlir --no-db", 2, f"link.mlir: {INPUT}"),
    "A2": Case("db export --db t.jsonl -o t.jsonl", 2, f"t.jsonl: {INPUT}"),
    "A3, kernel spec": Case("kernel spec p.mlir -o p.mlir", 2, f"p.mlir: {INPUT}"),
    "A3, kernel bench": Case("kernel bench p.mlir -o p.mlir", 2, f"p.mlir: {INPUT}"),
    "A3, profile": Case("profile p.mlir -o p.mlir", 2, "p.mlir: the name must end in .json"),
    "A3, bench": Case(
        "bench p.mlir --transform-script cpu_matmul --save-script p.mlir", 2, f"p.mlir: {INPUT}"
    ),
    "A3, script link": Case("script link s.mlir -o s.mlir", 2, f"s.mlir: {INPUT}"),
    "A3, spec embed": Case("spec embed p.mlir spec.mlir -o p.mlir", 2, f"p.mlir: {INPUT}"),
    "A3, the spec": Case("spec embed p.mlir spec.mlir -o spec.mlir", 2, f"spec.mlir: {INPUT}"),
    "A3, spec link": Case("spec link spec.mlir spec.mlir -o spec.mlir", 2, f"spec.mlir: {INPUT}"),
    "A3, report": Case("report t.jsonl -o p.mlir", 2, "p.mlir: the name must end in .html"),
    "A3, compile": Case("compile p.mlir -o p.mlir", 2, "p.mlir: the name must end in .vmfb"),
    "two outputs": Case("tune p.mlir -o o.mlir --kernels o.mlir", 2, "o.mlir: two outputs have this name"),
    "A8": Case("compile p.mlir --spec other.spec.mlir -o p.vmfb --strict", 1, "0 of 1 matchers hit"),
    "A8, embed": Case(
        "spec embed p.mlir other.spec.mlir -o t.mlir --target llvm-cpu:host --strict",
        1,
        "other.spec.mlir: 0 of 1 matchers hit",
    ),
    "A8, link": Case(
        "spec link other.spec.mlir -o l.mlir --program p.mlir --strict", 1, "l.mlir: 0 of 1 matchers hit"
    ),
    "A8, embed without a target": Case(
        "spec embed p.mlir other.spec.mlir -o t.mlir --strict", 2, "--strict requires --target"
    ),
    "A8, link without a program": Case(
        "spec link other.spec.mlir -o l.mlir --strict", 2, "--strict requires --program"
    ),
    "A5, device": Case("tune p.mlir --device local-task://7", 2, "no device 'local-task://7'"),
    "A5, not a number": Case("tune p.mlir --device local-sync://abc", 2, "no device"),
    "A5, no GPU": Case(
        "tune p.mlir --device hip://0 --chip gfx942 --no-db", 1, "hip://0: the device does not open: "
    ),
    "a spec of a module": Case("run p.vmfb --spec spec.mlir", 2, "a compiled module takes no spec"),
    "kernels of a module": Case("bench p.vmfb --kernels k.mlir", 2, "a compiled module takes no spec"),
    "sizes of a module": Case("run p.vmfb --dim 3", 2, "p.vmfb: --dim requires a program"),
    "no module": Case("bench no.vmfb", 1, "no.vmfb: no such file"),
    "B2, run": Case("run p.mlir --device local-task://7", 2, "no device 'local-task://7'"),
    "B2, bench": Case("bench p.mlir --device local-task://7", 2, "no device 'local-task://7'"),
    "B4": Case("spec build binary.mlir", 1, "binary.mlir: not a text file: byte 0 is not UTF-8"),
    "B5, db import": Case("db import deep.json --db d.db", 1, "deep.json:1: the JSON is nested too deep"),
    "B5, replay": Case("replay deep.json", 1, "the JSON is nested too deep"),
    "B5, spec build": Case("spec build deep.json", 1, "the JSON is nested too deep"),
    "B5, space": Case("space deep_object.json", 1, "the JSON is nested too deep"),
    "B5, suite": Case("suite generate deep.toml", 1, "the TOML is nested too deep"),
    "C1": Case(
        "tune dyn.mlir --no-db --effort smoke",
        1,
        "the program has no dispatches that can be tuned: dimension m is dynamic: set it with --dim",
    ),
    "C7, jobs": Case("tune p.mlir --no-db --jobs 1000", 2, "jobs must be from 1 to "),
    "C7, half a job": Case("tune p.mlir --no-db --jobs 1.5", 2, "--jobs must be a whole number, but is 1.5"),
    "a name that is not UTF-8": Case("db export 'ü\udcff' --db t.jsonl", 2, "'ü\\udcff' is not valid UTF-8"),
    "C7, half a job of a group": Case(
        "suite run s --jobs 1.5", 2, "--jobs must be a whole number, but is 1.5"
    ),
    "C7, no budget": Case("tune p.mlir --no-db --budget ''", 2, "'' is not a duration"),
    "C7, seed": Case("tune p.mlir --no-db --seed=-1", 2, "seed must be at least 0, but is -1"),
    "C7, time-out": Case("space p.mlir --compile --timeout=-1", 2, "--timeout must be above 0"),
    "C8": Case("tune p.mlir --device cuda://0", 1, "cuda://0: no CUDA driver was found"),
    "C8, a CPU": Case(
        "compile p.mlir --target llvm-cpu:znver99 -o p.vmfb",
        1,
        "the compiler does not know the x86_64 CPU 'znver99' (similar: ",
    ),
    "C8, a CPU of another architecture": Case(
        "compile p.mlir --target llvm-cpu:aarch64-cortex-x99 -o p.vmfb",
        1,
        "the compiler does not know the aarch64 CPU 'cortex-x99' (similar: ",
    ),
    "C9": Case("extract --nonsense", 2, "unknown option --nonsense"),
    "C10": Case("compile p.mlir --kernels no.mlir -o p.vmfb", 1, "no.mlir: no such file"),
    "V1": Case("verify p.mlir --json --diagnostics", 2, "give --json or --diagnostics, not both"),
    "V2": Case("verify p.mlir --program p.mlir", 2, "--program requires a spec, but the input is a program"),
    "V3": Case("verify other.spec.mlir --dim 4", 2, "--dim requires a program, but the input is a spec"),
    "C12": Case("db import t4.json --db d.db", 1, "a T4 file does not identify the workload"),
    "C16": Case("tune p.mlir --db p.mlir/no.db", 1, "(--db chooses another path, --no-db stores nothing)"),
    "C15": Case("tune /dev/zero", 1, "/dev/zero: this is a device, not a file"),
    "C15, sweep": Case(
        "suite generate --m 1:1000000000:1",
        2,
        "m: '1:1000000000:1' has 1000000000 values: the limit is 100000",
    ),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with what the commands name; `t.jsonl` is a database of trials."""
    folder = tmp_path_factory.mktemp("prepared")
    with contextlib.chdir(folder):
        Path("p.mlir").write_text(ZERO_MATMUL)
        Path("link.mlir").symlink_to("p.mlir")
        Path("empty").touch()
        assert run(["db", "import", str(TRIALS), "--db", "t.jsonl"]) == 0
        assert run(["db", "export", "1", "--format", "t4", "--db", "t.jsonl", "-o", "t4.json"]) == 0
        assert run(["script", "link", "cpu_matmul", "-o", "s.mlir"]) == 0
        assert run(["spec", "build", "empty", "-o", "spec.mlir"]) == 0
        assert run(["spec", "build", str(OTHER_SPEC), "-o", "other.spec.mlir"]) == 0
        Path("dyn.mlir").write_text(DYNAMIC)
        Path("binary.mlir").write_bytes(bytes(range(255, 0, -1)))
        Path("deep.json").write_text("[" * 100_000)
        Path("deep_object.json").write_text('{"a": ' * 100_000)
        Path("deep.toml").write_text("a = " + "[" * 100_000)
    return folder


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch):
    """A copy of it, and the working folder."""
    own = tmp_path / "own"
    shutil.copytree(prepared, own, symlinks=True)
    monkeypatch.chdir(own)
    monkeypatch.setenv("XDG_DATA_HOME", str(own / "data"))
    return own


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_a_line_and_loses_nothing(folder, capfd, case):
    before = content(folder)
    capfd.readouterr()
    assert run(shlex.split(case.command)) == case.status
    told = capfd.readouterr()
    last = told.err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert case.says in last
    assert "Traceback" not in told.err + told.out
    after = content(folder)
    assert {name: after[name] for name in before} == before
    made = set(after) - set(before) - {"d.db"}
    assert not made


def test_a_default_that_does_not_run_is_not_judged(folder, capfd):
    """A5: 500,000 rows of 500,000 floats are 931 GiB."""
    (folder / "big.mlir").write_text(SCALED.replace("SIZEx", "500000x", 1_000).replace("SIZE", "500000"))
    arguments = ["tune", "big.mlir", "--effort", "smoke", "--no-db", "--json", "-o", "old.mlir"]
    (folder / "old.mlir").write_text("an earlier result")
    assert run(arguments) == 1
    told = capfd.readouterr()
    assert (
        told.err.strip()
        .splitlines()[-1]
        .startswith("error: not judged: the compiler's default fails (run_error): ")
    )
    assert '"verdict": null' in told.out
    assert '"speedup": null' in told.out
    assert '"verdict": "tie"' not in told.out
    assert (folder / "old.mlir").read_text() == "an earlier result"


@pytest.mark.parametrize("command", ["run", "bench", "profile"])
def test_b8_a_program_that_is_too_large_is_a_line(folder, capfd, command):
    (folder / "big.mlir").write_text(SCALED.replace("SIZEx", "500000x", 1_000).replace("SIZE", "500000"))
    assert run([command, "big.mlir"]) == 1
    told = capfd.readouterr()
    assert told.err.strip().splitlines()[-1].startswith("error: ")
    assert "Traceback" not in told.err + told.out


ENDLESS = """
func.func @main(%first: i32) -> i32 {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %end = scf.while (%i = %first) : (i32) -> i32 {
    %bit = arith.andi %i, %one : i32
    %goes_on = arith.cmpi sge, %bit, %zero : i32
    scf.condition(%goes_on) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  }
  return %end : i32
}
"""


def test_b8_a_program_without_an_end_is_a_line(folder, capfd, monkeypatch):
    monkeypatch.setattr("iree_tuner.measure.program._TIMEOUT_S", 1.0)
    (folder / "endless.mlir").write_text(ENDLESS)
    assert run(["run", "endless.mlir"]) == 1
    told = capfd.readouterr()
    last = told.err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert "1 s" in last
    assert "Traceback" not in told.err + told.out


def test_a8_a_spec_that_hits_nothing_is_told(folder, capfd):
    assert run(["compile", "p.mlir", "--spec", "other.spec.mlir", "-o", "p.vmfb", "--json"]) == 0
    told = capfd.readouterr()
    assert "warning: other.spec.mlir: 0 of 1 matchers hit" in told.err
    assert '"matchers": 1, "hits": 0' in told.out


def test_a_compiled_module_is_run_and_timed_as_it_is(folder, capfd):
    """As `compile` writes it; bytes that are no module are a line."""
    (folder / "two.mlir").write_text(SCALED.replace("SIZE", "2"))
    assert run(["compile", "two.mlir", "-o", "two.vmfb"]) == 0
    for command, answer in (("run", "2x2xfloat32"), ("bench", "module: ")):
        assert run([command, "two.vmfb"]) == 0
        assert answer in capfd.readouterr().out
        (folder / "no.vmfb").write_text("text")
        assert run([command, "no.vmfb"]) == 1
        assert "error: the program does not load" in capfd.readouterr().err


def test_a9_results_without_numbers_are_no_check(folder, capfd):
    (folder / "plain.mlir").write_text(SCALED.replace("SIZE", "16"))
    np.save("nan.npy", np.full((16, 16), np.nan, np.float32))
    command = "run plain.mlir --transform-script cpu_matmul --input nan.npy --compare default"
    assert run(command.split()) == 0
    assert "nothing was compared: all results are NaN, by default too" in capfd.readouterr().err


def test_c5_a_result_is_a_line_and_a_small_table_and_c6_progress_is_that_of_the_command(capfd):
    tuned = iree_tuner_.tune_module(
        ZERO_MATMUL,
        effort="smoke",
        strategy="shuffle",
        try_flags=False,
        profile=False,
        candidates=1,
        progress=True,
    )
    assert "1 dispatch, 1 workload to tune" in capfd.readouterr().err
    assert len(repr(tuned).splitlines()) == 1
    assert len(repr(tuned)) < 300
    assert repr(tuned).startswith("<TuningResult of <text> for llvm-cpu:host: ")
    page = tuned._repr_html_()
    assert "matmul_" in page
    assert "&lt;text&gt;" in page
    assert len(page) < 100_000


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"budget_s": 0}, "budget_s must be positive and finite, but is 0"),
        ({"budget_s": -1.0}, "budget_s must be positive"),
        ({"budget_s": float("nan")}, "budget_s must be positive"),
        ({"budget_s": float("inf")}, "budget_s must be positive"),
        ({"jobs": 0}, "jobs must be from 1 to "),
        ({"seed": -1}, "seed must be at least 0"),
        ({"in_model": 0}, "in_model must be at least 1"),
        ({"candidates": 0}, "candidates must be at least 1"),
        ({"strategy": "magic"}, "unknown strategy 'magic' (one of: "),
    ],
)
def test_c6_arguments_are_checked(more, says):
    with pytest.raises(UsageError) as told:
        iree_tuner_.tune_module(ZERO_MATMUL, **more)
    assert says in str(told.value)


def test_c6_no_program_is_no_folder():
    with pytest.raises(TunerError, match="no program is named"):
        iree_tuner_.tune_module("")


def _call_in_a_pool(_):
    with Workers(1) as workers:
        return workers.call(os.path.basename, "a/b")


def test_c19_old_names_answer_with_the_new_one(capfd):
    capfd.readouterr()
    assert run(["specs", "list", "--backend", "vulkan"]) == 0
    assert capfd.readouterr().err == "note: 'iree-tuner specs list' is now 'iree-tuner spec shipped'\n"


def test_c18_the_pages_that_help_names_are_there(folder, capfd):
    capfd.readouterr()
    assert run(["docs"]) == 0
    assert "targets/cuda" in capfd.readouterr().out
    assert run(["docs", "docs/kernels.md"]) == 0
    assert capfd.readouterr().out.startswith("# Use external kernels")
    assert run(["docs", "no_such_page"]) == 2
    assert capfd.readouterr().err.startswith("error: unknown page 'no_such_page'")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (
            "What do the columns of `tune` mean?",
            ["share", "tried", "default us", "tuned us", "speedup", "verdict"],
        ),
        ("How do I see progress in Python?", ["progress=True", "observer="]),
        ("A workload wins, and the program ties: do I use the spec?", ["not measurably gain"]),
        ("What if the machine is busy?", ["--budget"]),
        ("May two runs tune at once?", ["--jobs"]),
        ("What is the status after Ctrl-C?", ["130", "143", "129"]),
    ],
)
def test_c21_what_users_ask_is_answered(capfd, question, says):
    assert run(["docs", "questions"]) == 0
    _, _, rest = capfd.readouterr().out.partition(f"**{question}**")
    answer = rest.partition("\n\n**")[0]
    assert answer
    assert not [word for word in says if word not in answer]


def test_c20_a_process_of_a_pool_can_tune():
    """Such processes are daemonic: `multiprocessing` refuses them children."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_call_in_a_pool, [0]) == ["b"]


@pytest.mark.parametrize("name", ['"model/main"', "f" * 300], ids=["a folder", "long"])
def test_b1_functions_are_called_as_they_like(folder, capfd, name):
    (folder / "named.mlir").write_text(ZERO_MATMUL.replace("@mm", f"@{name}", 1))
    assert run(["extract", "named.mlir", "--json"]) == 0
    assert f'"dispatch": "{name.strip(chr(34))}_dispatch_0_matmul' in capfd.readouterr().out


def test_c13_an_escape_code_does_not_reach_the_terminal(folder, capfd):
    (folder / "red.mlir").write_text(ZERO_MATMUL.replace("@mm", '@"\\1B[31mred"', 1))
    assert run(["extract", "red.mlir"]) == 0
    assert "\\x1b[31mred_dispatch_0" in capfd.readouterr().out


def test_c14_a_torn_row_is_told(tmp_path, capfd, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "suite"))
    from made_runs import Made, made_run, write

    write(made_run(Made("cpu", 1, 3)), tmp_path / "cpu")
    with (tmp_path / "cpu" / "rows.jsonl").open("a") as file:
        file.write('{"operation": "torn')
    assert run(["suite", "report", str(tmp_path / "cpu"), "--csv", str(tmp_path / "rows.csv")]) == 0
    assert "rows.jsonl: the last line is incomplete and was skipped" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["db list --db t.jsonl", "suite list", "kernel list", "script list"])
def test_c3_what_was_asked_for_goes_to_standard_output(folder, capfd, command):
    capfd.readouterr()
    assert run(command.split()) == 0
    told = capfd.readouterr()
    assert len(told.out.splitlines()) > 1
    assert not told.err


def iree_tuner(*arguments, shell="", **more):
    """A process of its own, which may lack a stream or a language."""
    command = [sys.executable, "-m", "iree_tuner.cli", *arguments]
    if shell:
        command = ["sh", "-c", f"{shlex.join(command)} {shell}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **more)


def test_b7_a_closed_stream_and_another_language(folder):
    closed = iree_tuner("spec", "explain", "-", shell="<&-")
    assert (closed.returncode, closed.stderr) == (1, "error: <stdin>: standard input is closed\n")
    commands = (("extract", "p.mlir", "--json"), ("suite", "list"), ("docs", "cluster"), ("--help",))
    for command in some(commands, 4):
        mute = iree_tuner(*command, shell=">&-")
        assert (mute.returncode, mute.stderr) == (1, "error: standard output is closed\n"), command
    shutil.copy("spec.mlir", "größe.mlir")
    strict = os.environ | {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"}
    code = "from iree_tuner.cli.main import run\n"
    code += "assert [run(['spec', 'explain', f'gr\\xf6\\xdfe{end}.mlir']) for end in ('', 'r')] == [0, 1]"
    missing = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600, env=strict
    )
    assert missing.stderr == "error: gr\\xf6\\xdfer.mlir: no such file\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_c11_a_full_disk_is_told(folder):
    full = iree_tuner("docs", shell=">/dev/full")
    assert (full.returncode, full.stderr) == (1, "error: standard output: No space left on device\n")


def test_b6_ctrl_c_while_modules_are_imported():
    code = """
import builtins, os, signal
from iree_tuner import cli
plain = builtins.__import__
def interrupted(name, *rest):
    if name == "iree_tuner.cli.main":
        os.kill(os.getpid(), signal.SIGINT)
    return plain(name, *rest)
builtins.__import__ = interrupted
cli.start(["suite", "list"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def catches(process, number):
    """Whether a process has a handler for a signal."""
    (line,) = (
        line
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
        if line.startswith("SigCgt")
    )
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def hear_signals():
    """As from a terminal: whoever started the tests with nohup, or in the background, may ignore them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_c17_a_signal_is_a_line(number):
    """While a program is read from a pipe that does not end."""
    command = [sys.executable, "-m", "iree_tuner.cli", "extract", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_signals
    ) as process:
        deadline = time.monotonic() + 600
        while not catches(process, signal.SIGHUP) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(600) == 128 + number
        name = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
        assert process.stderr.read() == f"error: {name}\n"


@pytest.mark.parametrize(
    ("score", "promised", "says"),
    [
        (0.8, True, "not judged: no time left for the final comparison"),
        (0.99, False, "not judged: the program would gain less than 0.3 %"),
        (1.0, False, "no candidate beat the default"),
    ],
)
def test_a7_what_had_no_finals_is_no_tie(score, promised, says):
    workload = SimpleNamespace(
        tried=5, best_score=score, searches=[SimpleNamespace(kind=SimpleNamespace(bench=None))]
    )
    engine = SimpleNamespace(devices=SimpleNamespace(note=lambda bench: ""))
    stop = SimpleNamespace(requested=False)
    assert note_of(workload, None, engine, "", stop, promised=promised) == says


@pytest.mark.parametrize(
    ("scores", "has_final", "judged"),
    [
        ((1.2, 0.8), False, False),
        ((1.2, 0.8), True, True),
        ((1.2, 1.1), False, True),
        ((1.2, None), False, False),
    ],
)
def test_a7_a_kernel_that_is_ahead_without_a_final_is_no_tie(scores, has_final, judged):
    """Its configurations have no hope. That is no verdict about the workload."""
    trials = [[SimpleNamespace(outcome="ok", score=each)] if each else [] for each in scores]
    searches = [Mock(trials=each, corrects=False) for each in trials]
    assert is_judged(searches, {searches[1]: Final(None, None)} if has_final else {}) is judged


@pytest.mark.skipif(find_spec("torch") is not None, reason="is about what is said without torch")
def test_b3_a_missing_reference_is_a_line(folder, capfd):
    (folder / "s.toml").write_text('summary = "one"\n[[matmul]]\nm = 16\nn = 16\nk = 16\n')
    assert run(["suite", "generate", "s.toml", "-o", "generated"]) == 0
    capfd.readouterr()
    assert run(["suite", "run", "generated", "--reference", "torch", "-o", "results"]) == 1
    told = capfd.readouterr().err
    assert [line for line in told.splitlines() if "error" in line] == told.splitlines()[-1:]
    assert "PyTorch is not installed" in told.splitlines()[-1]
    assert "Traceback" not in told


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c10_a_spec_of_kernels_can_be_moved_with_its_code(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    program = Path(__file__).parents[1] / "kernels" / "Inputs" / "gelu.mlir"
    assert run(["kernel", "spec", str(program), "-o", "k.mlir"]) == 0
    Path("elsewhere").mkdir()
    for name in ("k.mlir", "k.kernels"):
        shutil.move(name, Path("elsewhere") / name)
    arguments = ["compile", str(program), "--kernels", "elsewhere/k.mlir", "-o", "p.vmfb"]
    assert run(arguments) == 0
    shutil.rmtree("elsewhere/k.kernels")
    capfd.readouterr()
    assert run(arguments) == 1
    (error,) = (line for line in capfd.readouterr().err.splitlines() if line.startswith("error: "))
    assert "elsewhere/k.kernels/iree_tuner_gemm_f32_" in error
    assert "the spec's kernel file is missing (move it to the folder of k.mlir)" in error
