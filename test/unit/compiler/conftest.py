"""Workers of these tests are started as users' are."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def started(own_workers):
    pass
