"""A lab, and comparisons of few pairs: these tests look at what is compared, and not at who wins."""

import pickle

import pytest

from iree_tuner.measure.judging import JudgePlan
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab

ONCE = {
    "expose_here", "extract_alone_here", "extract_here", "find_here", "find_joint_here", "run_phases",
    "target_here", "with_scratch",
}  # fmt: skip
"""Calls that read nothing but their arguments: programs recur from test to test."""


@pytest.fixture(scope="session")
def lab():
    """One for all: each starts two processes that import the compiler and the runtime."""
    with Lab(target_for_device("local-task", "host"), 1) as found:
        submit, known = found.compilers.submit, {}

        def submit_once(function, *args, **how):
            if function.__name__ not in ONCE:
                return submit(function, *args, **how)
            key = pickle.dumps((function, args, how))
            if key not in known:
                known[key] = submit(function, *args, **how)
            return known[key]

        found.compilers.submit = submit_once
        yield found


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch):
    """In this process; commands that tests start compare as users' do."""
    judged = JudgePlan
    monkeypatch.setattr("iree_tuner.kernels.in_program.JudgePlan", lambda rounds, **how: judged(8, **how))
    monkeypatch.setattr("iree_tuner.kernels.in_program._BATCH_S", 0.002)
