"""benchmarks/roofs.py: the work of problems, and what is said of a kernel's time."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kernels.test_attention_forms import PROGRAMS
from kernels.test_attention_sites import found
from problems import matmul, site_in

from iree_tuner.kernels.kernel import Array
from iree_tuner.kernels.nest import Access, Nest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import roofs


def test_a_product() -> None:
    site = site_in(matmul(64, 32, 96))
    assert roofs.flops_of(site.problem) == 2 * 64 * 32 * 96
    assert roofs.bytes_of(site.problem) == 4 * (64 * 96 + 96 * 32 + 64 * 32)


def test_parts_of_an_array() -> None:
    """Two thirds of one, and a row that all others share."""
    product = site_in(matmul(64, 32, 96)).problem
    accesses = (Access(0, 32, (96, 1)), Access(0, 64, (96, 1)), Access(1, 0, (0, 1)))
    inputs = Array((64, 96), "f16"), Array((32,), "f32")
    nest = Nest((64, 32), accesses, (), (32, 1))
    problem = replace(product, inputs=inputs, result=Array((64, 32), "bf16"), nest=nest)
    assert roofs.flops_of(problem) == 0
    assert roofs.bytes_of(problem) == 2 * 64 * 64 + 4 * 32 + 2 * 64 * 32


def test_keys_that_no_query_sees_are_not_counted() -> None:
    plain, causal = (found((PROGRAMS / f"{name}.mlir").read_text()) for name in ("grouped", "grouped_causal"))
    assert plain is not None
    assert causal is not None
    # Of 2 x 4 heads, 20 queries, products of 16 for each key, and as many of its value.
    assert roofs.flops_of(plain.problem) == 2 * 4 * 20 * 24 * 2 * 2 * 16
    assert roofs.flops_of(causal.problem) == 2 * 4 * (20 * 21 // 2) * 2 * 2 * 16


def test_launches_say_why() -> None:
    row = {
        "kernel": "plain",
        "problem": "p",
        "us": 20.0,
        "flops": 989.5e12 * 10e-6,
        "bytes": 1.0,
        "type": "f16",
    }
    assert roofs.roof_us(row) == (pytest.approx(10.0), "arithmetic")
    assert roofs.reason({**row, "workgroups": 64}, 0.5) == "64 workgroups for 132 multiprocessors"
    assert "last round of 2" in roofs.reason({**row, "workgroups": 140}, 0.5)
    assert roofs.reason({**row, "workgroups": 1000}, 0.5) == "not known"
    assert roofs.reason({**row, "workgroups": 64}, 0.75) == ""
    assert roofs.reason({**row, "workgroups": 64, "library_us": 25.0}, 0.5) == "PyTorch's own reaches 0.40"
    assert roofs.reason({**row, "workgroups": 64, "library_us": 15.0}, 0.5).startswith("64 workgroups")
    assert "the beginning" in roofs.reason({**row, "us": 3.0, "workgroups": 1000}, 0.5)
    lines = roofs.table([("model", {**row, "workgroups": 64})]).splitlines()
    assert lines[-1].startswith("| plain | `p` | model | 20.0 |  | arithmetic | 0.50 | 64 workgroups")


def test_the_page_has_the_newest_rows() -> None:
    """Of those in the repository, and of two runs of a model."""
    assert (Path(roofs.__file__).with_name("roofs.md")).read_text() == roofs.page(roofs.FILES)


def test_a_later_row_replaces_an_earlier_one(tmp_path: Path) -> None:
    kernel = {"kernel": "nest", "problem": "p", "flops": 0.0, "bytes": 9e6, "type": "f16", "workgroups": 1}
    rows = [{"model": "m", "roofs": [{**kernel, "us": us}]} for us in (9.0, 4.5)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ({"model": "m"}, *rows)))
    assert [each["us"] for _, each in roofs.rows_in([file])] == [4.5]
