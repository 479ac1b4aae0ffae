"""The notebooks of examples/notebooks: their code runs, is that of scripts/make_notebooks.py, and has output.

Their code runs here in one process, without Jupyter, and tunes with the least effort.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
LEAST = {"effort": "smoke", "candidates": 2, "try_flags": False, "profile": False}
MOST_BYTES = 60_000


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    """The cells of a kind."""
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def code(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert", reason="its charts need the extra `report`")
    monkeypatch.chdir(path.parent)
    names: dict[str, Any] = {"__name__": path.stem}
    for cell in cells(path, "code"):
        exec(compile(code(cell), f"{path.name}", "exec"), names)
        if "OPTIONS" in names:
            names["OPTIONS"] = LEAST
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_and_has_output(path: Path) -> None:
    assert path.stat().st_size < MOST_BYTES
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]
    assert outputs
    assert not [each for each in outputs if each["output_type"] == "error"]


def test_the_cells_are_those_of_the_script() -> None:
    script = ast.parse((ROOT / "scripts" / "make_notebooks.py").read_text())
    texts = {node.value for node in ast.walk(script) if isinstance(node, ast.Constant)}
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for cell in (*cells(path, "code"), *cells(path, "markdown")):
            assert code(cell) in texts, "python scripts/make_notebooks.py writes it anew"
