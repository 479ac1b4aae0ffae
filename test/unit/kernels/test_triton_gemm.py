"""Triton's products are made without a GPU, compute what numpy does, and fit an executable's bindings."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from amounts import amount, some
from epilogues import with_epilogue
from problems import einsum, form_of, matmul, site_in

from iree_tuner.kernels.executable import build_kernel_here, with_scratch
from iree_tuner.kernels.kernel import Array, Code, KernelError, Problem
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.triton_gemm import TritonGemm, tiles_alone
from iree_tuner.targets import parse_target

KERNEL = TritonGemm()
TARGET = parse_target("cuda:sm_89")
RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "h200_kernels.jsonl"

needs_triton = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())


def problem(text: str = matmul(256, 256, 256, element="f16")) -> Problem:
    return site_in(text).problem


def variant(form: str, found: Problem) -> dict[str, int]:
    return dict(next(each for each in KERNEL.variants(found, TARGET) if form_of(each) == form))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matmul(256, 256, 256).replace("f32", "f64"), "its types are f64, f64, f64"),
        (
            einsum("bhse,hen->bsn", {"b": 2, "h": 3, "s": 7, "e": 10, "n": 64}),
            "no tile divides its innermost",
        ),
        (matmul(1 << 16, 64, 1 << 15, element="f16"), "too many values"),
    ],
)
def test_refused(text: str, why: str) -> None:
    assert why in KERNEL.refuses(problem(text))


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(256, 256, 256), (154, 1280, 2048), (257, 1024, 4096), (1500, 1280, 1280), (1, 4096, 4096)],
)
def test_variants_fit_into_shared_memory(m: int, n: int, k: int) -> None:
    found = KERNEL.variants(problem(matmul(m, n, k, element="f16")), TARGET)
    assert len(found) == len({tuple(sorted(each.items())) for each in found}) > 50
    assert all(
        (each.get("bm", 1) + each["bn"]) * each["bk"] * 2 * each["stages"] <= 227 * 1024 for each in found
    )
    assert {"plain", "persistent"} <= set(map(form_of, found[:16]))


def test_few_rows_have_low_tiles_first() -> None:
    for rows in (1, 2, 8, 16):
        found = KERNEL.variants(problem(matmul(rows, 4096, 4096, element="f16", transposed=True)), TARGET)
        assert all(each.get("bm", 1) <= 16 for each in found[:16])
        assert ("one_row" in map(form_of, found)) == (rows == 1)


@pytest.mark.parametrize(
    "line", RESULTS.read_text().splitlines()[:6], ids=lambda line: json.loads(line)["problem"]
)
def test_the_first_variants_have_the_tiles_that_were_the_fastest(line: str) -> None:
    row = json.loads(line)
    m, n, k = map(int, row["problem"].split("_")[1].split("x"))
    halves = replace(
        problem(matmul(m, n, k, element="f16")), result=Array((m, n), "f16"), epilogue=("truncf",)
    )
    found = [(each.get("bm"), each["bn"]) for each in KERNEL.variants(halves, TARGET)[:16]]
    assert (row["knobs"]["bm"], row["knobs"]["bn"]) in found


def test_other_targets() -> None:
    with pytest.raises(KernelError, match="does not compute"):
        KERNEL.make(problem(), parse_target("hip:gfx942"), variant("plain", problem()))


def parameters(code: Code) -> list[str]:
    listed = re.search(r"\.entry \w+\(([^)]*)\)", code.data.decode())
    assert listed is not None
    return [each.split()[-1].rpartition("_")[2] for each in listed[1].split(",")]


MADE = {
    "plain": (matmul(256, 256, 256, element="f16"), "plain", ["0", "1", "8"]),
    "persistent": (matmul(256, 256, 256, element="f16"), "persistent", ["0", "1", "8", "10"]),
    "split": (matmul(16, 64, 1024, element="f16"), "split", ["0", "1", "8", "9"]),
    "one row": (matmul(1, 64, 256, element="bf16", transposed=True), "one_row", ["0", "1", "8"]),
    "odd strides": (matmul(77, 33, 77, element="bf16"), "plain", ["0", "1", "8"]),
    "batch": (
        einsum("bmk,bnk->bmn", {"b": 3, "m": 257, "n": 40, "k": 64}), "persistent", ["0", "1", "8", "10"],
    ),
}  # fmt: skip


@needs_triton
@pytest.mark.parametrize(("text", "form", "expected"), MADE.values(), ids=MADE)
def test_made_and_built(only_dispatch, text: str, form: str, expected: list[str]) -> None:
    """Two operands and the result, and scratch memory where it is needed; the executable takes them."""
    found = problem(text)
    assert KERNEL.refuses(found) == ""
    code = KERNEL.make(found, TARGET, variant(form, found))
    assert parameters(code) == expected
    assert bool(code.scratch_bytes) == (len(expected) > 3)
    assert code.launch.shared_bytes <= 227 * 1024
    assert (b".reqnctapercluster" in code.data) == (b"barrier.cluster" in code.data) == (form == "split")
    assert b".file" not in code.data, "no path of this machine"
    harness = only_dispatch(text, TARGET).harness
    if code.scratch_bytes:
        narrow = build_kernel_here(harness, TARGET.flags, found, code)
        assert narrow.outcome == "compile_error"
        assert "no space" in narrow.message
        roomy = with_scratch(harness, code.scratch_bytes, TARGET.flags)
        assert roomy.buffer_bytes >= harness.buffer_bytes + code.scratch_bytes
        harness = roomy
    built = build_kernel_here(harness, TARGET.flags, found, code)
    assert (built.outcome, built.message) == ("ok", "")
    assert code.entry.encode() in built.vmfb


@needs_triton
def test_copies_are_as_wide_as_strides_allow() -> None:
    """Rows of 154 bytes cannot be copied by 16 bytes, although pointers are aligned to them."""
    found = problem(matmul(77, 64, 77, element="f16"))
    code = KERNEL.make(found, TARGET, variant("plain", found)).data.decode()
    assert "ld.global.b16" in code
    assert all(form_of(each) != "persistent" for each in KERNEL.variants(found, TARGET))


@needs_triton
@pytest.mark.parametrize("workgroups", [2, 4, 8])
def test_parts_of_a_sum_meet_in_a_cluster(workgroups: int) -> None:
    found = problem(matmul(16, 64, 2048, element="f16"))
    knobs = next(each for each in KERNEL.variants(found, TARGET) if each.get("split") == workgroups)
    code = KERNEL.make(found, TARGET, knobs)
    assert f".reqnctapercluster {workgroups}, 1, 1" in code.data.decode()
    assert code.launch.workgroups[0] % workgroups == 0
    assert code.scratch_bytes == code.launch.workgroups[0] * knobs["bm"] * knobs["bn"] * 4


@needs_triton
def test_only_tiles_of_the_last_round_are_divided() -> None:
    """160 tiles of 128 x 128 are a full round of 128, and 32 that four workgroups share."""
    found = problem(matmul(2048, 1280, 1024, element="f16"))
    shape = product_shape(found)
    assert shape is not None
    tails = [each for each in KERNEL.variants(found, TARGET) if each.get("tail")]
    knobs = next(each for each in tails if (each["bm"], each["bn"], each["split"]) == (128, 128, 4))
    assert tiles_alone(shape, knobs) == 128
    code = KERNEL.make(found, TARGET, knobs)
    assert code.launch.workgroups[0] == 128 + 32 * 4
    assert code.scratch_bytes == 32 * 4 * 128 * 128 * 4
    assert ".reqnctapercluster 4, 1, 1" in code.data.decode()
    full = problem(matmul(2048, 1024, 1024, element="f16"))  # 128 such tiles
    tiles = [(each["bm"], each["bn"]) for each in KERNEL.variants(full, TARGET) if each.get("tail")]
    assert (128, 128) not in tiles


STEPS = [
    ("bias", "gelu", "truncf"),
    ("truncf", "silu", "factor"),
    ("truncf", "bias", "gelu", "residual"),
    ("residual", "bias", "relu"),
    ("gelu_tanh", "truncf", "residual"),
    ("scale", "factor", "bias", "residual"),
]


@needs_triton
@pytest.mark.parametrize("steps", some(STEPS, 2), ids="_".join)
@pytest.mark.parametrize("form", ["plain", "persistent"])
def test_epilogues_take_their_operands_in_order(steps, form: str) -> None:
    """The parameters that are left are the bindings: operands, those of the epilogue, result, scratch."""
    text = with_epilogue(256, 256, 256, steps, element="f16", narrow="f16")
    found = problem(text)
    assert found.epilogue == steps
    assert KERNEL.refuses(found) == ""
    code = KERNEL.make(found, TARGET, variant(form, found))
    scratch = ["10"] if form == "persistent" else []
    assert parameters(code) == [*map(str, range(len(found.inputs))), "8", *scratch]
    assert bool(code.scratch_bytes) == bool(scratch)


@needs_triton
def test_the_sources_compute_what_numpy_does(tmp_path: Path) -> None:
    """By Triton's interpreter, in a process of its own: odd sizes, layouts, parts of sums, epilogues."""
    script = Path(__file__).parent / "interpreted_gemm.py"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, script, str(amount(1, 100))]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_triton
def test_steps_compute_what_numpy_does(tmp_path: Path) -> None:
    """By Triton's interpreter: all numbers of 16 bits, infinities and NaN."""
    script = Path(__file__).parent / "interpreted_steps.py"
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
