"""Failures with one cause have one line."""

import json
from collections import Counter
from pathlib import Path

import pytest

from iree_tuner.store.causes import cause_of

TOOLS = "error: One or more operations with large vector sizes (8192 bytes) were found:"


def test_numbers_and_names_do_not_matter():
    one = cause_of("compile_error", TOOLS)
    assert one == cause_of("compile_error", TOOLS.replace("8192", "24576"))
    assert "large vector sizes" in one
    values = [f"'scf.for' op operand %{n} of @f_{n} has type vector<{n}x4xf32>" for n in (3, 17)]
    assert len({cause_of("compile_error", value) for value in values}) == 1


def test_different_reasons_stay_different():
    assert cause_of("compile_error", TOOLS) != cause_of("compile_error", "failed to derive layout")


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("exited with -6: LLVM ERROR: Cannot select: v2i16,v2i16 = umul_lohi", "LLVM ERROR: Cannot select"),
        ("x: 0x55: v2i16\nRunning pass 'NVPTX DAG->DAG' on function '@f'", "Running pass 'NVPTX DAG->DAG'"),
        ("the worker was killed by SIGSEGV", "SIGSEGV"),
        ("", "no message"),
    ],
)
def test_crashes(message, cause):
    assert cause_of("compile_crash", message).startswith(cause)


def test_time_outs_are_one_cause():
    assert cause_of("run_timeout", "no result after 3 s") == "no result within N s"


MESSAGES = Path(__file__).parent / "messages.jsonl"
"""What IREE 3.13.0 said of configurations without supplements, and of programs in test/upstream."""

# How many of the messages have the cause, by how it begins. They differ in sizes, names and addresses.
EXPECTED = {
    ("compile_error", "function 'NAME' uses N bytes of shared memory; exceeded the limit of N bytes"): 4,
    ("compile_timeout", "no result within N s"): 1,
    ("compile_crash", "LLVM ERROR: Cannot select: ADDRESS: v2i16,v2i16 = umul_lohi ADDRESS, ADDRESS"): 3,
    ("compile_error", "'vector.scatter' op write affecting operations on shared resources are restricted"): 1,
    ("compile_error", "op was not bufferized"): 1,
    ("compile_error", "'linalg.pack' op tile size analysis did not determine a valid tile size"): 1,
    ("compile_error", "'func.func' op failed to distribute"): 2,
    ("compile_error", "One or more operations with large vector sizes (N bytes) were found:"): 1,
    (
        "compile_error",
        "'linalg.matmul' op expected only parallel dims to be set in the distribution tiling",
    ): 1,
    ("compile_error", "'func.func' op failed to build pass pipeline"): 1,
    ("compile_error", "Yield operand #N is not equivalent to the corresponding iter bbArg"): 1,
    ("compile_error", "'amdgpu.wmma' op WMMA only supported on gfx11 and gfx12"): 1,
    ("compile_error", "'vector.transfer_write' op write affecting operations on shared resources are"): 1,
    ("compile_error", "'vector.transfer_read' op failed to derive layout for promoted read-like op"): 1,
    ("compile_error", "cannot be converted to LLVM IR: missing `LLVMTranslationDialectInterface`"): 1,
    (
        "compile_error",
        "'tensor.expand_shape' op expected dimension N of collapsed type to be static value",
    ): 1,
    ("compile_error", "failed to bufferize op"): 1,
    ("compile_crash", "SIGSEGV"): 1,
    ("compile_error", "LLVM Translation failed for operation: builtin.unrealized_conversion_cast"): 1,
    ("compile_error", "'iree_linalg_ext.online_attention' op result #N must be variadic of ranked tensor"): 1,
    (
        "compile_error",
        "'iree_codegen.inner_tiled' op operand #N inner tile 'tensor<TYPE>' is incompatible",
    ): 1,
    ("compile_crash", "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.mma.m16n8k16.row.col.f16.f16"): 1,
}


def test_real_messages_fall_together_where_their_causes_do():
    rows = [json.loads(line) for line in MESSAGES.read_text().splitlines()]
    causes = Counter((row["outcome"], cause_of(row["outcome"], row["message"])) for row in rows)
    assert len(causes) == len(EXPECTED), causes
    for (outcome, beginning), count in EXPECTED.items():
        fits = [causes[each] for each in causes if each[0] == outcome and each[1].startswith(beginning)]
        assert fits == [count], beginning


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("the worker exited with -8: no output", "SIGFPE"),
        ("the worker exited with 3: no output", "exit status 3"),
        ("the worker hit its memory limit of 8192 MiB and exited with -6: LLVM", "the worker hit its memory"),
        ("the worker exited with -6: free(): invalid pointer", "free(): invalid pointer"),
    ],
)
def test_a_crash_without_an_error_is_named_by_how_it_ended(message, cause):
    assert cause_of("compile_crash", message).startswith(cause)


def test_shapes_do_not_matter_and_are_no_addresses():
    shapes = ("20x4096x64xf16", "1x7x0xf16")
    assert {cause_of("compile_error", f"no layout for {shape}") for shape in shapes} == {
        "no layout for Nxf16"
    }
