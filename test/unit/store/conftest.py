"""Databases that several of this room's tests fill."""

import pytest

from iree_tuner.store import Store


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "trials.db") as opened:
        yield opened


@pytest.fixture
def other(tmp_path):
    with Store.open(tmp_path / "other.db") as opened:
        yield opened
