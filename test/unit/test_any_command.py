"""Commands with arguments and files that nobody meant: a line, a status, no input lost, nothing left over."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from unittest import mock

from amounts import amount
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import ZERO_MATMUL

from iree_tuner.cli.main import run

HERE = Path(__file__).parents[1]
INPUTS = {
    "p.mlir": ZERO_MATMUL.encode(),
    "w.jsonl": (HERE / "spec" / "Inputs" / "matmul.jsonl").read_bytes(),
    "t.jsonl": (HERE / "store" / "Inputs" / "trials.jsonl").read_bytes(),
    "r.jsonl": (HERE / "replay" / "Inputs" / "flat_h200.jsonl").read_bytes(),
    "s.toml": b'summary = "one"\n[[matmul]]\nm = [16, 32]\nn = 16\nk = 16\n',
}
MADE = ("spec.mlir", "t.db", "script.mlir")
COMMANDS = (
    "spec build w.jsonl", "spec check spec.mlir", "spec explain spec.mlir", "spec link spec.mlir spec.mlir",
    "spec embed p.mlir spec.mlir", "db list --db t.db", "db show 1 --db t.db", "db best --db t.db",
    "db export --db t.db", "db import t.jsonl --db new.db", "db merge t.db --db new.db",
    "db prune --older-than 1d --db t.db", "db failures --db t.db",
    "db replay r.jsonl --strategy shuffle --seeds 1 --budget 4", "script link script.mlir", "script list",
    "suite generate s.toml", "suite list", "suite report .", "suite changes . .",
    "suite history show t.jsonl",
    "space w.jsonl --count", "kernel list", "spec shipped", "report t.db", "doctor", "extract p.mlir",
)  # fmt: skip
WORDS = (
    "", "-", "--", "--json", "--bogus", "-o", "out.mlir", "out.jsonl", "p.mlir", "spec.mlir", "t.db", "none",
    ".", "/dev/null", "/dev/zero", "a\x1b[31m", "ü\udcff", "9" * 40, "-1", "nan", "1e999", "--db", "--seed",
    "--target", "cuda:sm_90", "llvm-cpu:znver9", "--limit", "--help", "x" * 300,
)  # fmt: skip


@cache
def made():
    """The inputs, and what commands make of them."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), quiet():
        for path, data in INPUTS.items():
            Path(path).write_bytes(data)
        assert run(["spec", "build", "w.jsonl", "-o", "spec.mlir"]) == 0
        assert run(["db", "import", "t.jsonl", "--db", "t.db"]) == 0
        assert run(["script", "link", "cpu_matmul", "-o", "script.mlir"]) == 0
        return INPUTS | {path: Path(path).read_bytes() for path in MADE}


@contextlib.contextmanager
def quiet():
    """Standard streams as text; they are not the process's own."""
    out, err = io.StringIO(), io.StringIO()
    stdin = mock.Mock(buffer=io.BytesIO(b"{}"))
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", stdin),
    ):
        yield out, err


@st.composite
def mutated(draw, data):
    """A file that was cut, or some of whose bytes are others."""
    match draw(st.sampled_from(["cut", "bytes", "doubled", "none", "nested"])):
        case "cut":
            return data[: draw(st.integers(0, len(data)))]
        case "bytes":
            found = bytearray(data)
            for _ in range(draw(st.integers(1, 4))):
                place, value = draw(st.integers(0, len(data) - 1)), draw(st.integers(0, 255))
                found[place] = value
            return bytes(found)
        case "doubled":
            return data + data
        case "none":
            return b""
        case _:
            return b"[" * 50_000


@st.composite
def cases(draw):
    """A command, and which of its files is another."""
    arguments = draw(st.sampled_from(COMMANDS)).split()
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(1, len(arguments)))
        word = draw(st.sampled_from(WORDS))
        if draw(st.booleans()):
            arguments.insert(place, word)
        elif place < len(arguments):
            arguments[place] = word
    return arguments, draw(st.none() | st.sampled_from([*INPUTS, *MADE])), draw(st.integers(0, 1))


@settings(max_examples=amount(20, 2_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(), data=st.data())
def test_any_command_ends_in_a_line_and_loses_nothing(case, data):
    arguments, changed, full = case
    files = dict(made())
    if changed is not None:
        files[changed] = data.draw(mutated(files[changed]))
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for path, content in files.items():
            Path(path).write_bytes(content)
        Path("data").mkdir()
        disk = mock.patch("os.fsync", side_effect=OSError(28, "No space left on device"))
        home = mock.patch.dict(os.environ, {"XDG_DATA_HOME": f"{name}/data", "TMPDIR": name})
        with home, disk if full else contextlib.nullcontext(), quiet() as (out, err):
            status = run(arguments)
        told = err.getvalue()
        assert status in (0, 1, 2), told
        assert "Traceback" not in told + out.getvalue()
        errors = [line for line in told.splitlines() if line.startswith("error: ")]
        assert len(errors) == (status != 0 and not is_answer(arguments, out.getvalue())), told
        after = {path: Path(path).read_bytes() for path in files if Path(path).exists()}
        lost = [path for path in files if after.get(path) != files[path] and not may_change(path, arguments)]
        assert not lost
        assert not list(Path().rglob(".iree_tuner_*"))
        shutil.rmtree("data", ignore_errors=True)


def is_answer(arguments, answer):
    """Commands whose status is their answer."""
    return arguments[:2] == ["spec", "check"] and bool(answer)


def may_change(path, arguments):
    """A database that a command is told to write to; what an output replaces that is no input."""
    outputs = [after for word, after in pairwise(arguments) if word in ("-o", "--db")]
    return path in outputs
