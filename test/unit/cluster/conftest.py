"""A cluster for tests that need one."""

import pytest

pytest.importorskip("distributed", reason="pip install 'iree-tuner[cluster]'")

from cluster_processes import Processes

from iree_tuner.cluster.cluster import Cluster


@pytest.fixture(scope="module")  # idle ones take time from other tests
def processes(tmp_path_factory):
    """A device's worker, and two that compile."""
    found = Processes(tmp_path_factory.mktemp("cluster"))
    try:
        found.start_scheduler()
        found.start_worker("board", "--device", "local-task")
        found.start_worker("one", "--compile-slots", "1")
        found.start_worker("two", "--compile-slots", "1")
        found.wait_for("board", "one", "two")
        yield found
    finally:
        found.close()


@pytest.fixture
def cluster(processes):
    with Cluster(processes.address) as found:
        yield found
