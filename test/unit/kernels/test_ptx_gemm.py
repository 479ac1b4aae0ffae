"""The plain example in PTX: what it computes, instruction by instruction; NVIDIA's assembler takes it."""

import shutil
import subprocess

import numpy as np
import pytest
from amounts import amount, some
from epilogues import with_epilogue
from problems import conv, matmul, site_in
from ptx_machine import Machine

from iree_tuner.kernels.executable import build_kernel_here
from iree_tuner.kernels.kernel import KernelError, Knobs, Problem, kernel_named, usual_kernels
from iree_tuner.kernels.ptx_gemm import ENTRY, PtxGemm
from iree_tuner.targets import parse_target

KERNEL = PtxGemm()
TARGET = parse_target("cuda:sm_80")
EVERY = [{"warps": warps, "depth": depth} for depth in (16, 32, 64) for warps in (8, 4, 2)]
EACH_ONCE = some(EVERY, 4)
"""Each number of warps and each depth is in one of those that run by default."""


def problem(m: int, n: int, k: int, steps: tuple[str, ...] = ()) -> Problem:
    return site_in(with_epilogue(m, n, k, steps, element="f16")).problem


def ran(found: Problem, knobs: Knobs) -> tuple[np.ndarray, np.ndarray, list]:
    """The result by the machine and by numpy, and its workgroups."""
    code = KERNEL.make(found, TARGET, knobs)
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(each.shape).astype(np.float16) for each in found.inputs)
    kind = np.float32 if found.result.element_type == "f32" else np.float16
    result = np.full(found.result.shape, np.nan, kind)
    machine = Machine(code.data.decode(), code.launch.threads[0], [left, right, result])
    x, y, z = code.launch.workgroups
    assert z == 1
    groups = [machine.run(column, row) for row in range(y) for column in range(x)]
    want = left.astype(np.float64) @ right.astype(np.float64)
    return machine.memory[-result.nbytes :].view(kind).reshape(want.shape), want, groups


@pytest.mark.parametrize("knobs", EACH_ONCE, ids=lambda each: f"{each['warps']}x{each['depth']}")
def test_every_tile_once_and_right(knobs: Knobs) -> None:
    """Each number of the result and each place in shared memory is stored once; nothing unset is read."""
    rows, depth = 16 * knobs["warps"], knobs["depth"]
    got, want, (group,) = ran(problem(rows, 32, 2 * depth), knobs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert len(group.stored) == rows * 32 * 4
    assert set(group.stored.values()) == {1}
    assert group.unset_reads == 0
    tiles = (rows * depth + depth * 32) * 2
    copies = [each for each in group.shared_stores if each]
    assert [len(each) for each in copies] == [tiles, tiles]  # one for each step in depth
    assert all(set(each.values()) == {1} for each in copies)
    assert group.shared_stores[1::2] == [{}] * 2  # nothing is copied while others multiply


@pytest.mark.parametrize(
    ("sizes", "steps"), [((64, amount(32, 64), 48), ()), ((32, 64, 32), ("truncf",))], ids=["f32", "f16"]
)
def test_several_workgroups_and_both_results(sizes, steps) -> None:
    """Two workgroups across, or two down with a depth of three tiles; both with `--all`."""
    got, want, groups = ran(problem(*sizes, steps), {"warps": 2, "depth": 16})
    np.testing.assert_allclose(got, want, rtol=1e-5 if not steps else 1e-3, atol=1e-5 if not steps else 1e-3)
    every = [place for group in groups for place in group.stored]
    assert len(groups) == (2 if steps else amount(2, 4))
    assert len(every) == len(set(every)) == got.nbytes


def test_its_tiles_divide_the_sizes() -> None:
    assert {tuple(each.values()) for each in KERNEL.variants(problem(64, 32, 96), TARGET)} == {
        (4, 32), (4, 16), (2, 32), (2, 16),
    }  # fmt: skip


def test_it_is_taken_where_it_is_named() -> None:
    assert kernel_named("ptx_gemm_f16").backend == "cuda"
    by_triton = [f"triton_{each}" for each in ("attention", "conv", "depthwise", "gemm", "norms")]
    usual = ["fused_ops", "joint_products", *by_triton]
    assert [each.name for each in usual_kernels("cuda")] == usual


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matmul(64, 64, 64), "its types are f32, f32, f32, not f16 with f32 sums"),
        (matmul(64, 64, 64, element="f16", transposed=True), "it is not a plain matrix product A B"),
        (matmul(48, 64, 64, element="f16"), "not multiples of 32 rows, 32 columns and a depth of 16"),
        (matmul(64, 48, 64, element="f16"), "its sizes are not multiples of"),
        (matmul(64, 64, 40, element="f16"), "its sizes are not multiples of"),
        (with_epilogue(64, 64, 64, ("bias",), element="f16"), "its epilogue is bias, not truncf alone"),
        (with_epilogue(64, 64, 64, ("truncf",), element="f16", narrow="bf16"), "its result is bf16"),
        (matmul(65536, 64, 32768, element="f16"), "2^31 elements or more"),
        (conv((4, 4), 16, 32), "its types are"),
    ],
)  # fmt: skip
def test_refused(text: str, why: str) -> None:
    assert why in KERNEL.refuses(site_in(text).problem)


def test_other_targets() -> None:
    with pytest.raises(KernelError, match="does not compute"):
        KERNEL.make(problem(64, 64, 64), parse_target("hip:gfx942"), EVERY[0])


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas of the CUDA toolkit")
@pytest.mark.parametrize("steps", [(), ("truncf",)], ids=["f32", "f16"])
@pytest.mark.parametrize("knobs", EACH_ONCE, ids=lambda each: f"{each['warps']}x{each['depth']}")
def test_the_assembler_takes_it(knobs: Knobs, steps, tmp_path) -> None:
    code = KERNEL.make(problem(128, 64, 128, steps), TARGET, knobs)
    (tmp_path / "k.ptx").write_bytes(code.data)
    command = [
        "ptxas",
        "-v",
        "--warning-as-error",
        "-arch=sm_80",
        tmp_path / "k.ptx",
        "-o",
        tmp_path / "k.cubin",
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "0 bytes spill stores" in done.stderr


@pytest.mark.parametrize("steps", [(), ("truncf",)], ids=["f32", "f16"])
def test_the_compiler_embeds_it(only_dispatch, steps) -> None:
    text = with_epilogue(128, 64, 128, steps, element="f16")
    code = KERNEL.make(site_in(text).problem, TARGET, EVERY[0])
    built = build_kernel_here(only_dispatch(text, TARGET).harness, TARGET.flags, site_in(text).problem, code)
    assert (built.outcome, built.message) == ("ok", "")
    assert ENTRY.encode() in built.vmfb
    assert b"mma.sync.aligned.m16n8k16" in built.vmfb
