"""Fixtures that several rooms' tests share."""

import atexit
import fcntl
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from iree_tuner.compiler import process
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import once
import worker_forks
from amounts import ALL, amount

# How long an example takes says something of the machine, and nothing of the code.
# What runs by default runs the same each time: new examples are looked for with --all.
settings.register_profile(
    "machine", deadline=None, max_examples=amount(40, 1000), suppress_health_check=[HealthCheck.too_slow],
    derandomize=not ALL,
)  # fmt: skip
settings.load_profile("machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """The first of xdist's workers compiles the tests' modules, and others find them compiled.

    So it is with what Hypothesis reads of the package. A fresh clone has neither.
    """
    gc.disable()  # what is imported stays
    path = os.environ.get("IREE_TUNER_TEST_COLLECTED")  # by test/run.py
    if path is None or not _is_xdists(session):
        return (yield)
    with Path(path).open("ab") as done:
        fcntl.flock(done, fcntl.LOCK_EX)
        if os.fstat(done.fileno()).st_size:
            fcntl.flock(done, fcntl.LOCK_UN)
            return (yield)
        try:
            return (yield)
        finally:
            done.write(b".")
            done.flush()


def pytest_collection_modifyitems(items):
    """Leave out what only `--all` runs."""
    if not ALL:
        for item in items:
            if item.get_closest_marker("exhaustive"):
                item.add_marker(pytest.mark.skip(reason="only with --all (test/run.py)"))


def pytest_collection_finish():
    """What is there by now stays until the end: the collector need not look at it again and again."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session):
    """xdist's workers end without a look at all that is left: two seconds each."""
    if _is_xdists(session):
        atexit.register(_end)
    else:
        gc.unfreeze()  # bindings complain of what is left at the end


def _is_xdists(session):
    return hasattr(session.config, "workerinput")


def _end():
    atexit.unregister(_end)
    atexit._run_exitfuncs()
    os._exit(0)


@pytest.fixture(scope="session", autouse=True)
def one_job():
    """One compile worker here: tests run on all cores already, and each worker imports the compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iree_tuner.tuning.lab.usable_cores", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def forked_workers():
    """Workers of this process are forks; commands that tests start have their own, as users' have.

    What both do without (`worker_forks.briefly`) they do with `--all`.
    """
    if ALL or not worker_forks.possible():
        yield
        return
    worker_forks.briefly()
    once.draw_once()
    with worker_forks.start():
        yield


@pytest.fixture(scope="module")
def own_workers(forked_workers):
    """Workers are started as users' are: for tests of their start and end, and of what is loaded by then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "subprocess", subprocess)
        yield


@pytest.fixture(scope="session")
def cpu():
    return target_for_device("local-task")


@pytest.fixture(scope="session")
def compilers():
    with Workers(1) as pool:
        yield pool


@pytest.fixture
def every_dialect(monkeypatch):
    """Workers as users have them, for programs in dialects that forks do not read."""
    monkeypatch.setattr(process, "subprocess", subprocess)
    with Workers(1) as pool:
        yield pool


@pytest.fixture
def reading(compilers, request):
    """The workers that read a program."""
    return lambda text: request.getfixturevalue("every_dialect") if "torch." in text else compilers


@pytest.fixture(scope="session")
def only_dispatch(cpu, compilers):
    """The one dispatch of a program."""

    def find(program, target=cpu):
        (dispatch,) = extract(load_program(program), target, compilers).dispatches
        return dispatch

    return find
