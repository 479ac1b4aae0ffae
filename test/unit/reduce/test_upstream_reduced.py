"""The commands of docs/upstream/README.md: what they leave is about as large as what was written by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from enlarged import UPSTREAM

from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import Candidate, printed

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "upstream" / "README.md"
LIMIT_S = 3600.0

BY_HAND = {
    "prefetch": "prefetch_uneven_copy",
    "attention": "attention_vdmfma_rows",
    "emitter": "emitter_batch",
}


def commands() -> list[str]:
    """What makes and reduces each program."""
    found = re.search(r"```sh\n(python test/unit/reduce/enlarged.py .*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1].strip().split("\n\n")


def read(path: Path) -> Candidate:
    return printed(Program(str(path), path.read_bytes()))


def reduced(name: str, folder: Path) -> tuple[Candidate, Candidate]:
    """A program before and after the commands of the page."""
    (folder / "test").symlink_to(ROOT / "test")
    (command,) = (each for each in commands() if f"-o {name}.mlir" in each)
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-ec", command], cwd=folder, env=environment, timeout=LIMIT_S, check=True)
    return read(folder / f"big_{name}.mlir"), read(folder / f"{name}.mlir")


pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        not version("iree-base-compiler").startswith("3.13."), reason="the reports are about 3.13"
    ),
]


@pytest.mark.parametrize("name", BY_HAND)
def test_programs(name: str, tmp_path: Path) -> None:
    before, after = reduced(name, tmp_path)
    by_hand = read(UPSTREAM / f"{BY_HAND[name]}.mlir")
    assert len(before.text) >= 10 * len(by_hand.text)
    assert after.size.ops <= by_hand.size.ops
    assert len(after.text) <= 1.2 * len(by_hand.text)


def test_a_spec(tmp_path: Path) -> None:
    before, after = reduced("spec", tmp_path)
    assert before.text.count("-> @apply_op_config") == 11
    assert after.text.count("-> @apply_op_config") == 1
    assert "prefetch_num_stages = 3" in after.text
