"""What is said while a program is tuned: on standard error, in a line."""

import io
from types import SimpleNamespace

from rich.console import Console

from iree_tuner.report.progress import Progress
from iree_tuner.store.record import versus


def task(name):
    return SimpleNamespace(workload=SimpleNamespace(key=name, name=name))


def test_candidates_are_counted_by_workload_and_flags():
    """Searches take turns, and their candidates end in any order: none counts those of another."""
    out = io.StringIO()
    progress, told = Progress(Console(file=out, width=80)), []
    progress.working = told.append
    one, other = task("one"), task("other")
    for _ in range(2):  # two choices of flags
        progress.extracted(
            "m.mlir on local-task", SimpleNamespace(dispatches=[1], diagnostics=()), [one, other]
        )
        progress.started(one, 0.5, 4)
        progress.tried(one, [1, 2], None)
        progress.started(other, 0.5, 4)
        progress.tried(one, [3], None)
        progress.tried(other, [1], None)
        assert [each.split(",")[0] for each in told if "tried" in each][-2:] == [
            "one: 3 tried",
            "other: 1 tried",
        ]
    assert out.getvalue().splitlines()[0] == "m.mlir on local-task: 1 dispatch, 2 workloads to tune"


def test_versions_have_short_names():
    assert versus("default flags with the spec", "default flags") == "tuned vs. default"
    assert versus("default flags and kernels", "default flags") == "kernels vs. default"
    assert versus("data-tiling with the spec", "data-tiling") == "data-tiling with the spec vs. data-tiling"
