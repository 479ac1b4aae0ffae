"""Code blocks of pages: marked commands print what pages show, and all options and names exist."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import importlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hand_made import workload
from once import each_once  # noqa: F401 (a fixture)

from iree_tuner.cli.main import run
from iree_tuner.kernels.kernel import Array, Problem

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import record_pages

ROOT = Path(__file__).resolve().parents[2]
ANEW = "python scripts/record_pages.py --checked PAGE writes it anew"
HELP = Path(__file__).parent / "help"
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md", "specs/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
CODE = re.compile(r"^```(\w*)\n(.*?)^```$|`([^`\n]+)`|^(?: {4}.*\n)+", re.DOTALL | re.MULTILINE)


def checked(page: Path) -> list[record_pages.Block]:
    """The blocks that print the same everywhere."""
    found = map(record_pages.block, record_pages.BLOCK.finditer(page.read_text()))
    return [each for each in found if each.mark]


def named(page: Path) -> str:
    """A page's path in the checkout."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", list(filter(checked, PAGES)), ids=named)
def test_commands_print_what_their_page_shows(page, tmp_path, monkeypatch):
    record_pages.link_folders(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in checked(page):
        status, printed = called(block.command, tmp_path)
        if not record_pages.matches(block.shown, printed):
            assert printed == block.shown, f"{block.command}: {ANEW}"
        assert status == block.status, block.command


def called(command: str, folder: Path) -> tuple[int, str]:
    """Status and output of a command, in this process: importing takes longer than most commands."""
    program, *arguments = shlex.split(command)
    assert program == "iree-tuner"
    printed = io.StringIO()
    environment = record_pages.ENVIRONMENT | {"XDG_DATA_HOME": str(folder / "data")}
    with (
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        status = run(arguments)
    return status, record_pages.tidy(printed.getvalue(), str(folder))


def test_dots_stand_for_what_differs():
    assert record_pages.matches("a 12\n...\nz\n", "a 12\nb\nc\nz\n")
    assert record_pages.matches("a ... us\n", "a 7.3 us\n")
    assert not record_pages.matches("a 12\nz\n", "a 12\nb\nz\n")
    assert not record_pages.matches("a ... us\n", "a 7.3 ms\n")


def code(page: Path) -> list[tuple[str, str]]:
    """Kind and text of each piece of code on a page."""
    found = ((*match.groups(), match[0]) for match in CODE.finditer(page.read_text()))
    return [(kind or "", fenced or inline or whole) for kind, fenced, inline, whole in found]


def calls(text: str) -> list[list[str]]:
    """The words of each call of `iree-tuner` in a piece of code."""
    unquoted = re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", text)
    joined = re.sub(r"\\\n\s*", " ", unquoted)
    found = (re.split(r"[|;&#]|\s>", match[1]) for match in re.finditer(r"\biree-tuner (.*)", joined))
    return [parts[0].split() for parts in found]


def mistakes(words: list[str]) -> list[str]:
    """Options that the help of a command does not have."""
    path = ["iree-tuner"]
    for word in words:
        if not (HELP / f"{'_'.join([*path, word.strip('`')])}.txt").exists():
            break
        path.append(word.strip("`"))
    known = re.sub(r"[│\s]+", " ", (HELP / f"{'_'.join(path)}.txt").read_text())
    options = {found[0] for word in words if (found := re.match(r"--[a-z][a-z-]*", word))} - {"--help"}
    return [f"{' '.join(path)} {option}" for option in sorted(options) if f"{option} " not in f"{known} "]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_options_of_commands_exist(page):
    pieces = (text for kind, text in code(page) if kind != "text")
    assert [wrong for text in pieces for words in calls(text) for wrong in mistakes(words)] == []


def test_an_unknown_option_is_found():
    assert mistakes(["tune", "model.mlir", "--fast", "-o", "x"]) == ["iree-tuner tune --fast"]
    assert mistakes(["db", "list", "--db", "x"]) == []
    assert calls("a\n  iree-tuner tune \\\n    x --json | head\n") == [["tune", "x", "--json"]]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_imports_of_python_blocks_work(page):
    for kind, text in code(page):
        if kind == "python":
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iree_tuner"):
                    module = importlib.import_module(node.module or "")
                    assert [each.name for each in node.names if not hasattr(module, each.name)] == []


PLUGINS = ROOT / "examples" / "plugins"
"""The packages of how-to pages, which the site shows on them."""


def test_the_family_of_its_page_holds_to_its_contract(monkeypatch):
    monkeypatch.syspath_prepend(PLUGINS / "my-family")
    test = importlib.import_module("test_sum_pooling")
    test.test_the_family_holds_to_its_contract()


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_the_kernel_of_its_page_computes_a_product(monkeypatch, cpu, tmp_path):
    monkeypatch.syspath_prepend(PLUGINS / "my-kernels")
    kernel = importlib.import_module("my_kernels.plain_gemm").PlainGemm()
    m, n, k = 8, 64, 16
    shapes = ((m, k), (k, n), (m, n))
    product = workload(
        "contraction", "matmul", (m, n, k), ("parallel", "parallel", "reduction"), ("f32",) * 3,
        (f"(d0, d1, d2) -> {result}" for result in ("(d0, d2)", "(d2, d1)", "(d0, d1)")),
        (("batch", ()), ("m", (0,)), ("n", (1,)), ("k", (2,))),
    )  # fmt: skip
    *inputs, result = (Array(shape, "f32") for shape in shapes)
    problem = Problem(product, tuple(inputs), result)
    assert kernel.refuses(problem) == ""
    knobs = kernel.variants(problem, cpu)[0]
    code = kernel.make(problem, cpu, knobs)
    (tmp_path / "gemm.o").write_bytes(code.data)
    subprocess.run(["cc", "-shared", "gemm.o", "-o", "gemm.so"], cwd=tmp_path, check=True)
    a, b = (np.random.default_rng(0).random(shape, np.float32) for shape in shapes[:2])
    c = np.full((m, n), np.nan, np.float32)
    entry = getattr(ctypes.CDLL(str(tmp_path / "gemm.so")), code.entry)
    for x in range(code.launch.workgroups[0]):
        for y in range(code.launch.workgroups[1]):
            pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in (a, b, c))
            entry(*pointers, *(ctypes.c_int64(each) for each in (x, y, 0)))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


JSON = re.compile(r"^    (iree-tuner [^\n]* --json)\n\n(`.*)", re.MULTILINE)


def test_the_keys_of_json_are_those_of_its_page(tmp_path, monkeypatch):
    record_pages.link_folders(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert called("iree-tuner db import test/store/Inputs/trials.jsonl --db trials.db", tmp_path)[0] == 0
    sections = JSON.findall((ROOT / "docs" / "reference" / "json.md").read_text())
    assert len(sections) == 5
    for command, keys in sections:
        listed = set(re.findall(r"`(\w+)`", keys))
        printed = called(command, tmp_path)[1].splitlines()
        found = [set(json.loads(line)) for line in printed if line.startswith("{")]
        assert set.union(*found) == listed, command
