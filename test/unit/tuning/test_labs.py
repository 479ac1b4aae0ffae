"""Runs on other machines: what makes a lab for a scheduler is found by entry points."""

from contextlib import contextmanager
from importlib.metadata import EntryPoint

import pytest

from iree_tuner import installed
from iree_tuner.errors import UsageError
from iree_tuner.tuning.lab import Lab, caution_about, lab_for
from iree_tuner.tuning.options import TuningOptions


class HereLabs:
    """Pretends that this machine is another."""

    def takes(self, scheduler):
        return str(scheduler).startswith("here://")

    def caution(self, scheduler):
        return f"{scheduler} is this machine"

    @contextmanager
    def lab(self, scheduler, options, *, cold, restriction):
        target, _ = options.targets
        with Lab(target, options.jobs, cold=cold, restriction=restriction) as lab:
            yield lab


@pytest.fixture(autouse=True)
def makers(monkeypatch):
    entry = EntryPoint("here", f"{__name__}:HereLabs", "iree_tuner.labs")
    found = installed.entry_points
    monkeypatch.setattr(
        installed, "entry_points", lambda group: [entry] if group == entry.group else found(group=group)
    )


def test_a_lab_is_made_by_the_package_that_takes_the_scheduler():
    options = TuningOptions(scheduler="here://1", chip="host")
    assert caution_about("here://1") == "here://1 is this machine"
    with lab_for(options, cold=False) as lab:
        assert (lab.target.device, lab.cold) == ("local-task", False)


def test_a_scheduler_that_no_package_takes_is_refused():
    assert caution_about("there://1") == ""
    with (
        pytest.raises(UsageError, match="there://1: no installed package"),
        lab_for(TuningOptions(scheduler="there://1")),
    ):
        pass
