"""A wrong entry is found where the program uses it, and costs the others nothing."""

from pathlib import Path

import pytest

from iree_tuner.execute.program_request import request
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_space
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.sound import EntryCheck

ATTENTION = Path(__file__).parents[3] / "programs" / "ops" / "cpu_attention.mlir"


PRODUCT = """
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x128x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x128x24xf32>) -> tensor<4x128x24xf32>
  %p = linalg.batch_matmul ins(%r, %w : tensor<4x128x64xf32>, tensor<4x64x24xf32>)
      outs(%init : tensor<4x128x24xf32>) -> tensor<4x128x24xf32>
  return %p : tensor<4x128x24xf32>
"""


def with_product(text):
    """The attention's program, whose result is also multiplied by matrices."""
    text = text.replace(
        ") -> tensor<4x128x64xf32> {", ", %w: tensor<4x64x24xf32>) -> tensor<4x128x24xf32> {", 1
    )
    return text.replace("  return %r : tensor<4x128x64xf32>\n", PRODUCT.lstrip("\n"))


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device("local-task", "host"), 1) as found:
        yield found


def test_a_wrong_entry_is_found_and_the_right_one_stays(lab, tmp_path):
    path = tmp_path / "whole.mlir"
    path.write_text(with_product(ATTENTION.read_text()))
    program = load_program(path)
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    entries = {}
    for dispatch in dispatches:
        if dispatch.workload is None:
            continue
        space = build_space(dispatch.workload, dispatch.limits, lab.context)
        (member,) = space.sample(1, seed=0)
        if dispatch.workload.family == "attention":  # the compiler takes this, and gets it wrong
            (k1,) = dispatch.workload.role("k1")
            member = {**member, f"vector_{k1}": dispatch.workload.loops[k1] // 2}
        entries[dispatch.workload.family] = SpecEntry(dispatch.workload, space.configuration(member))
    assert entries.keys() == {"attention", "contraction"}
    found = EntryCheck(list(entries.values()), program, request(program), dispatches, lab).result()
    assert list(found.wrong) == [entries["attention"]]
    assert not found.uncompared
    assert not found.judged.own
    (note,) = found.notes
    assert note.startswith("left out, because ")
    assert "computes wrong results with it: attention_" in note
    assert len(found.judged.moves) == 3
    assert all(0 < move.typical < move.largest < 1e-3 for (move,) in found.judged.moves)
