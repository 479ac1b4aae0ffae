"""Options of runs of the suite."""

import pytest

from iree_tuner.cli import main
from iree_tuner.errors import UsageError
from iree_tuner.suite.backends.iree import Wanted
from iree_tuner.suite.commands.run import SuiteOptions
from iree_tuner.suite.site import site_at


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"device": ("local-task", "cuda://0")}, "a run cannot have both CPUs and GPUs"),
    ],
)
def test_values_out_of_range_are_refused(arguments, says):
    with pytest.raises(UsageError, match=says):
        SuiteOptions(**arguments)


def test_a_suite_takes_no_more_threads_than_the_devices_host_has():
    with site_at(None) as site, pytest.raises(UsageError, match="but a process there may use only"):
        SuiteOptions(threads=10_000).conditions(site)


@pytest.mark.parametrize(
    ("arguments", "choice"),
    [((), None), (("--configurations", "3", "--seed", "5"), Wanted(count=3, seed=5))],
)
def test_a_number_of_configurations_is_asked_for(arguments, choice, tmp_path, monkeypatch):
    plans = []
    monkeypatch.setattr(
        "iree_tuner.suite.commands.run.carry_out", lambda plan, *_, **__: plans.append(plan) or 0
    )
    assert main.run(["suite", "run", "gemm -m 16 -n 16 -k 16", "-o", str(tmp_path / "r"), *arguments]) == 0
    assert [each.choice for each in plans] == [choice]
