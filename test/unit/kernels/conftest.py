"""A lab, each compilation once, that of kernels too, and comparisons of few pairs.

These tests look at what is compared, and not at who wins.
"""

import once
import pytest
from once import each_once  # noqa: F401 (a fixture)

from iree_tuner.measure.statistics import JudgePlan
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab


@pytest.fixture(scope="session")
def lab():
    """One for all: each starts two processes that import the compiler and the runtime."""
    with Lab(target_for_device("local-task", "host"), 1) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def each_kernel_once(each_once):  # noqa: F811 (a fixture)
    """Kernels of this room make the same code each time; one that does not is pickled otherwise each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(once, "SAME_EACH_TIME", once.SAME_EACH_TIME | {"make_here", "code_here", "take_apart"})
        yield


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch):
    """In this process; commands that tests start compare as users' do."""
    judged = JudgePlan
    monkeypatch.setattr("iree_tuner.kernels.in_program.JudgePlan", lambda rounds, **how: judged(8, **how))
    monkeypatch.setattr("iree_tuner.kernels.in_program._BATCH_S", 0.002)
