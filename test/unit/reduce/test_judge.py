"""Judges as processes: how they end, where they run, and that nothing of them is left."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from iree_tuner.compiler.worker import WorkerError
from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import Answer, CommandJudge, InWorkers, ask

MODULE = b"func.func @main() { return }\n"
PATIENCE_S = 60.0


def said(judge: CommandJudge) -> Answer:
    return ask(judge, MODULE, ".mlir")


@pytest.mark.parametrize(
    ("judge", "shows", "status"),
    [
        (CommandJudge("grep -q @main"), True, 0),
        (CommandJudge("grep -q @other"), False, 1),
        (CommandJudge("grep -q @main {} && true"), True, 0),
        (CommandJudge("exit 3 #", 3), True, 3),
        (CommandJudge("exit 3 #", 4), False, 3),
        (CommandJudge("exit 3 #", "fail"), True, 3),
        (CommandJudge("true", "fail"), False, 0),
        (CommandJudge("exit 245 #", "crash"), True, 245),
        (CommandJudge("exit 1 #", "crash"), False, 1),
        (CommandJudge("kill -SEGV $$ #", "crash"), True, 139),
        (CommandJudge("kill -SEGV $$ #", 139), True, 139),
        (CommandJudge("echo error: x >&2; exit 1 #", "fail", "error: x"), True, 1),
        (CommandJudge("echo error: y; exit 1 #", "fail", "error: x"), False, 1),
        (CommandJudge("echo error: x #", "fail", "error: x"), False, 0),
        (CommandJudge("no-such-command"), False, 127),
    ],
)
def test_how_a_judge_ends(judge, shows, status):
    answer = said(judge)
    assert (answer.shows, answer.status) == (shows, status)


def test_a_judge_runs_in_a_folder_of_its_own():
    answer = said(CommandJudge("ls; pwd; cat"))
    name, folder, *text = answer.output.splitlines()
    assert name == "candidate.mlir"
    assert "\n".join(text) == MODULE.decode().strip()
    assert Path(folder) != Path.cwd()
    assert not Path(folder).exists()


def test_the_end_of_a_long_output_is_kept_and_all_of_it_looked_at():
    answer = said(CommandJudge("echo first; seq 100000; echo last #", 0, "first"))
    assert answer.shows
    assert answer.output.endswith("last\n")
    assert len(answer.output) < 10_000


def test_bytecode_has_a_name_of_its_own():
    assert ask(CommandJudge("ls; true"), b"ML\xefR", ".mlirbc").output == "candidate.mlirbc\n"


def test_answers_come_in_order_and_those_left_are_given_up(tmp_path):
    judge = CommandJudge(f"grep -q quick {{}} || (echo $$ > {tmp_path}/pid; sleep 600)")
    with InWorkers(judge, 2, PATIENCE_S * 10) as lab:
        answers = lab.judged([b"quick", b"slow", b"quick"])
        assert next(answers).shows
        pid = wait_for_pid(tmp_path / "pid")
        answers.close()
        wait_for_end(pid)
        assert [each.shows for each in lab.judged([b"quick"])] == [True]


def test_a_judge_that_takes_too_long_ends_with_all_that_it_started(tmp_path):
    judge = CommandJudge(f"(sleep 600; true) & echo $! > {tmp_path}/pid; wait #")
    with InWorkers(judge, 1, 1.0) as lab:
        (answer,) = lab.judged([MODULE])
    assert not answer.shows
    assert answer.status is None
    assert "no result after 1 s" in answer.output
    if (tmp_path / "pid").exists():  # it may not have come so far
        wait_for_end(wait_for_pid(tmp_path / "pid"))


def test_a_module_that_crashes_the_parser_is_no_candidate():
    depth = 100_000
    deep = "module {" * depth + "}" * depth
    with InWorkers(CommandJudge("true"), 1, PATIENCE_S) as lab:
        with pytest.raises(WorkerError):
            lab.printed(Program("deep.mlir", deep.encode()))
        assert lab.count(deep, 0) == 0
        assert lab.edited(deep, 0, [frozenset(), frozenset({0})]) == [None, None]
        assert lab.printed(Program("x.mlir", MODULE)).text.startswith("module")


def wait_for_pid(path: Path) -> int:
    end = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end
        time.sleep(0.02)
    return int(path.read_text())


def wait_for_end(pid: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while is_running(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
