"""The runtime's tools as the measuring worker asks them, with others in their place."""

import json
from pathlib import Path

import numpy as np
import pytest

from iree_tuner.device.program_run import ProgramRun
from iree_tuner.profiling import run as whole
from iree_tuner.program.entries import Taken
from iree_tuner.program.parameters import Parameter

CALL = "main", ((Taken("f32", (2, 3)), np.ones((2, 3), np.float32)), (Taken("i32"), 7))


class FakeRuntime:
    """Answers as `iree-benchmark-module` and `iree-profile` do, and keeps the flags."""

    def __init__(self, lost: int = 0, lost_when_flushed: int = 0, failure: str = "") -> None:
        self.lost, self.lost_when_flushed, self.failure = lost, lost_when_flushed, failure
        self.flags: list[list[str]] = []
        self.total = 0

    def __call__(self, tool: str, *arguments: str) -> bytes | str:
        if self.failure:
            return self.failure
        if tool == "iree-benchmark-module":
            self.flags.append(Path(arguments[0].partition("=")[2]).read_text().splitlines())
            self.total = int(arguments[1].partition("=")[2].removesuffix("x"))
            return b""
        flushed = any(flag.startswith("--device_profiling_flush") for flag in self.flags[-1])
        lost = self.lost_when_flushed if flushed else self.lost
        lines = [
            {
                "record_type": "host_execution_event",
                "op": "dispatch",
                "key": "d",
                "valid": True,
                "command_buffer_id": 0,
                "command_index": 0,
                "start_host_time_ns": 1000 * i,
                "end_host_time_ns": 1000 * i + 500,
            }
            for i in range(self.total)
        ]
        told = [*lines, *([{"record_type": "diagnostic", "dropped_records": lost}] if lost else [])]
        return "\n".join(json.dumps(line) for line in told).encode()


@pytest.fixture
def tool(tmp_path):
    run = ProgramRun(wanted=(Parameter("model", "w", (4,), "f32"),))
    return whole._Tool("program.vmfb", "local-task", run, tmp_path, [CALL])


def profile(tool, runtime, monkeypatch):
    monkeypatch.setattr(whole, "_run", runtime)
    found = []
    return tool.profile(4, found), found


def test_the_program_is_run_as_asked_and_warm_up_is_left_out(tool, monkeypatch, tmp_path) -> None:
    runtime = FakeRuntime()
    problem, (invocations,) = profile(tool, runtime, monkeypatch)
    assert problem == ""
    assert [each.us["d"] for each in invocations] == [0.5] * 4
    (flags,) = runtime.flags
    assert "--function=main" in flags
    assert f"--input=2x3xf32=@{tmp_path / 'inputs_0' / '0.bin'}" in flags
    assert "--input=7" in flags
    assert (tmp_path / "inputs_0" / "0.bin").read_bytes() == np.ones(6, np.float32).tobytes()
    (parameters,) = (flag for flag in flags if flag.startswith("--parameters=model="))
    assert Path(parameters.rpartition("=")[2]).exists()


def test_events_that_were_lost_are_flushed_for(tool, monkeypatch) -> None:
    runtime = FakeRuntime(lost=9)
    problem, (invocations,) = profile(tool, runtime, monkeypatch)
    assert problem == ""
    assert len(runtime.flags) == 2
    assert len(invocations) == 4


def test_events_that_are_lost_anyway_are_a_problem(tool, monkeypatch) -> None:
    problem, _ = profile(tool, FakeRuntime(lost=9, lost_when_flushed=3), monkeypatch)
    assert problem == "the runtime dropped 3 events of the profile"


def test_a_tool_that_fails_is_a_problem(tool, monkeypatch) -> None:
    assert (
        profile(tool, FakeRuntime(failure="the runtime has no tools"), monkeypatch)[0]
        == "the runtime has no tools"
    )


def test_a_tool_that_is_not_there_is_told() -> None:
    assert whole._run("iree-no-such-tool") == "the runtime has no iree-no-such-tool"


def test_what_a_tool_says_at_last_is_told() -> None:
    found = whole._run("iree-profile", "export", "no such file")
    assert isinstance(found, str)
    assert found.startswith("iree-profile exited with status ")
