"""Comparisons of few pairs: these tests look at what is compared, and not at who wins."""

import pytest

from iree_tuner.execute.judging import JudgePlan


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch):
    """In this process; commands that tests start compare as users' do."""
    judged = JudgePlan
    monkeypatch.setattr("iree_tuner.kernels.contest.JudgePlan", lambda rounds, **how: judged(8, **how))
    monkeypatch.setattr("iree_tuner.kernels.bench._BATCH_S", 0.002)
