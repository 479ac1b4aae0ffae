"""benchmarks/gpu_models.py where no GPU is: time limits, and rows of models that fail."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra examples")
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import torch_on_gpu  # noqa: E402


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(TimeoutError, match="took more than 0 s"), torch_on_gpu.limited(0.05):
        time.sleep(60)
    with pytest.raises(TimeoutError, match="no time was left"), torch_on_gpu.limited(-1.0):
        pytest.fail("begun")
    with torch_on_gpu.limited(None):
        pass


@pytest.mark.exhaustive
def test_the_next_model_goes_on_where_one_fails(tmp_path: Path) -> None:
    """Programs are missing here."""
    names = ("llama_step", "vit_block")
    for name in names:
        (tmp_path / f"{name}.irpa").touch()
    script, rows = ROOT / "benchmarks" / "gpu_models.py", tmp_path / "rows.jsonl"
    chosen = [part for name in names for part in ("--model", name)]
    done = subprocess.run(
        [sys.executable, script, tmp_path, "--json", rows, "--seconds", "100", *chosen],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["model"] for row in found] == list(names)
    for row in found:
        assert row["problem"].startswith("status 1: ")
        assert f"{row['model']}.mlir" in row["problem"]
