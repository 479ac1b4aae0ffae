"""The workflow of the examples: it is one, and its commands are those that there are."""

import shlex
from pathlib import Path

import pytest

from iree_tuner.suite.commands.suite import app

yaml = pytest.importorskip("yaml")

WORKFLOW = Path(__file__).resolve().parents[3] / "examples" / "nightly" / "suite.yml"


@pytest.fixture(scope="module")
def steps():
    found = yaml.safe_load(WORKFLOW.read_text())
    assert found[True]["schedule"], "`on` is a truth value in YAML"
    (job,) = found["jobs"].values()
    return job["steps"]


def commands(steps):
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("iree-tuner suite ")]


def test_each_step_does_one_thing(steps):
    for step in steps:
        assert ("run" in step) != ("uses" in step)
        assert step.keys() <= {"name", "if", "run", "uses", "with"}


def test_its_commands_are_there(steps):
    found = commands(steps)
    names = {" ".join(each[:2]) if each[0] == "history" else each[0] for each in found}
    assert names == {"run", "report", "changes", "history add", "history show"}
    for each in found:
        if each[0] in app:
            app.parse_args(each, exit_on_error=False, print_error=False)  # raises for what there is not


def test_what_is_kept_is_what_is_brought(steps):
    restored, saved = (step["with"] for step in steps if step.get("uses", "").startswith("actions/cache/"))
    assert restored["path"] == saved["path"]
    assert restored["key"] == saved["key"]
    assert saved["key"].startswith(restored["restore-keys"])


def test_the_pages_are_shown_after_a_failure(steps):
    (fatal,) = (place for place, step in enumerate(steps) if "--fail-on" in step.get("run", ""))
    assert "slower" in steps[fatal]["run"]
    assert steps[fatal + 1 :]
    assert all("!cancelled()" in step["if"] for step in steps[fatal + 1 :])
