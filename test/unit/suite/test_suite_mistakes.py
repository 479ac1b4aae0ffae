"""What is wrong with the input of the suite's pages, changes and histories: one line, and a status."""

import re
import shutil

import pytest
from made_runs import Made, made_run, write

from iree_tuner.cli.main import run
from iree_tuner.cli.table import parse_percent
from iree_tuner.errors import UsageError
from iree_tuner.report import page
from iree_tuner.suite.results import add

HINT = "(give a folder of results, or HISTORY.jsonl@RUN: id, beginning of a commit, first or last)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With two runs that have no rows in common, one without rows, one that is broken, and a history."""
    monkeypatch.chdir(tmp_path)
    cpu = made_run(Made("cpu", operations=1))
    write(cpu, "cpu")
    write(made_run(Made("gpu", operations=1, devices=("cuda://0",))), "gpu")
    shutil.copytree("cpu", "norows")
    (tmp_path / "norows" / "rows.jsonl").unlink()
    shutil.copytree("cpu", "broken")
    with (tmp_path / "broken" / "rows.jsonl").open("a") as file:
        file.write('{"operation": "a", "kind": "", "arguments": {}, "backend": "", "time_us": "soon"}\n')
    add(cpu, tmp_path / "h.jsonl")
    (tmp_path / "empty.jsonl").touch()
    return tmp_path


MISTAKES = {
    "report norows": "cpu: the run has no rows yet",
    "report broken": "broken/rows.jsonl:7: not a row: Expected `float | null`, got `str` - at `$.time_us`",
    "report h.jsonl": "h.jsonl: the folder has no results of `iree-tuner suite` (no run.json)",
    "report cpu -o missing/suite.html": "missing: no such folder",
    "changes cpu gpu": "the runs cpu and gpu have no rows in common (rows match if operation, back end, "
    "configuration and device are equal)",
    "changes norows cpu": "norows: the run has no rows yet",
    "changes missing cpu": f"missing: there are no results of that name {HINT}",
    "changes missing.jsonl@last cpu": f"missing.jsonl@last: there are no results of that name {HINT}",
    "changes cpu empty.jsonl@last": "empty.jsonl: the history has no runs",
    "changes cpu cpu --history missing.jsonl": "missing.jsonl: cannot read: No such file or directory",
    "changes cpu cpu -o missing/c.html": "missing: no such folder",
    "history add missing --to h.jsonl": "missing: the folder has no results of `iree-tuner suite` "
    "(no run.json)",
    "history add norows --to h.jsonl": "run cpu has no rows yet",
    "history add cpu --to missing/h.jsonl": "missing/h.jsonl: cannot write: No such file or directory",
    "history show missing.jsonl": "missing.jsonl: cannot read: No such file or directory",
    "history show cpu": "cpu: cannot read: Is a directory",
    "history show empty.jsonl -o no.html": "empty.jsonl: the history has no runs",
}
MISUSE = {
    "report cpu -o gpu": "gpu: the name must end in .html",
    "report cpu --csv gpu": "gpu: the name must end in .csv",
    "report": 'Command "suite report" parameter RESULTS requires an argument.',
    "changes cpu": 'Command "suite changes" parameter NEW requires an argument.',
    "changes h.jsonl cpu": f"h.jsonl: name a run of this history {HINT}",
    "changes cpu cpu --worth 3": "'3' is not a percentage (write 3% or 0.03)",
    "changes cpu cpu --alike=-1%": "'-1%' is not a percentage (write 3% or 0.03)",
    "changes cpu cpu --fail-on slow": "--fail-on: unknown verdict 'slow' (broken, fixed, slower, faster, "
    "ambiguous, new, gone, same)",
}


@pytest.mark.parametrize("command", [*MISTAKES, *MISUSE])
def test_a_mistake_is_told_in_one_line(folder, capsys, command):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert run(["suite", *command.split()]) == (2 if command in MISUSE else 1)
    told = capsys.readouterr().err.strip().splitlines()
    assert told[-1] == f"error: {MISTAKES.get(command) or MISUSE[command]}"
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before, "nothing is written"


@pytest.mark.parametrize(
    "command", ["report cpu", "changes cpu cpu -o c.html", "history show h.jsonl -o h.html"]
)
def test_pages_ask_for_their_libraries(folder, capsys, monkeypatch, command):
    monkeypatch.setattr(page, "_LIBRARIES", ("no_such_library",))
    assert run(["suite", *command.split()]) == 1
    assert (
        "error: a report requires no_such_library (pip install 'iree-tuner[report]')"
        in capsys.readouterr().err
    )


def test_tables_and_texts_need_no_libraries(folder, capsys, monkeypatch):
    monkeypatch.setattr(page, "_LIBRARIES", ("no_such_library",))
    for command in ("report cpu --csv rows.csv", "changes cpu h.jsonl@last", "history show h.jsonl"):
        assert run(["suite", *command.split()]) == 0
    assert (folder / "rows.csv").read_text().count("\n") == 7
    assert not (folder / "suite.html").exists()


def test_other_conditions_are_told(folder, capsys):
    written = (folder / "cpu" / "run.json").read_text()
    (folder / "cpu" / "run.json").write_text(written.replace('"threads": 2', '"threads": 1'))
    assert run(["suite", "changes", "h.jsonl@last", "cpu"]) == 0
    assert "the conditions differ: threads was 2 and is 1" in capsys.readouterr().err


def test_a_history_tells_how_much_runs_differ(folder, capsys):
    for place in range(6):
        add(made_run(Made(f"run-{place}", place, 1, started=place)), folder / "h.jsonl")
    for command in ("changes h.jsonl@run-1 cpu", "changes cpu gpu2 --history h.jsonl"):
        write(made_run(Made("gpu2", 9, operations=1)), "gpu2")
        assert run(["suite", *command.split()]) == 0
        assert re.search(r"equal code between runs: [12]\.\d% on a CPU", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "share"), [("3%", 0.03), ("2.5 %", 0.025), ("0.03", 0.03), (".1", 0.1), ("0", 0.0)]
)
def test_shares(text, share):
    assert parse_percent(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "%", "3", "1", "nan", "-1%", "1e-2", "3%%", "three"])
def test_what_is_no_share(text):
    with pytest.raises(UsageError, match="is not a percentage"):
        parse_percent(text)
