"""Workers of these tests are started as users' are: how they start and end is what is tested."""

import subprocess

import pytest

from iree_tuner.compiler import process


@pytest.fixture(scope="module", autouse=True)
def workers_of_their_own():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "subprocess", subprocess)
        yield
