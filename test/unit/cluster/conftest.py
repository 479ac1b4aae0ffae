"""A cluster for tests that need one."""

from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="pip install 'iree-tuner[cluster]'")

from cluster_processes import Processes

from iree_tuner.cluster.cluster import Cluster

FOLDER = Path(__file__).parent
running: list[Processes] = []


@pytest.fixture
def processes(tmp_path_factory):
    """A device's worker, and two that compile; for all tests of this folder."""
    if not running:
        found = Processes(tmp_path_factory.mktemp("cluster"))
        try:
            found.start_scheduler()
            found.start_worker("board", "--device", "local-task")
            found.start_worker("one", "--compile-slots", "1")
            found.start_worker("two", "--compile-slots", "1")
            found.wait_for("board", "one", "two")
        except BaseException:
            found.close()
            raise
        running.append(found)
    return running[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Idle ones take time from other tests."""
    if nextitem is None or FOLDER not in nextitem.path.parents:
        while running:
            running.pop().close()


@pytest.fixture
def cluster(processes):
    with Cluster(processes.address) as found:
        yield found
