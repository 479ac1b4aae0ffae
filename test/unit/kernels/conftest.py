"""A lab, each compilation once, and comparisons of few pairs.

These tests look at what is compared, and not at who wins.
"""

import pytest
from once import each_once  # noqa: F401 (a fixture)

from iree_tuner.measure.judging import JudgePlan
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab


@pytest.fixture(scope="session")
def lab():
    """One for all: each starts two processes that import the compiler and the runtime."""
    with Lab(target_for_device("local-task", "host"), 1) as found:
        yield found


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch):
    """In this process; commands that tests start compare as users' do."""
    judged = JudgePlan
    monkeypatch.setattr("iree_tuner.kernels.in_program.JudgePlan", lambda rounds, **how: judged(8, **how))
    monkeypatch.setattr("iree_tuner.kernels.in_program._BATCH_S", 0.002)
