"""Failures with one cause have one line."""

import pytest

from iree_tuner.build.causes import cause_of

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
