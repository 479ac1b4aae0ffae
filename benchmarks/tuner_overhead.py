"""What the tuner itself costs a trial, beside compiling and measuring; and whether it keeps devices busy.

The whole engine runs, with its worker processes, its database and the space's own configurations; only the
compiler and the device are functions that sleep (`fake_trials.py`).

    python benchmarks/tuner_overhead.py
    python benchmarks/tuner_overhead.py --devices 8 --measure-ms 50 --compile-ms 20
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

sys.path.insert(0, str(Path(__file__).parent))

import fake_trials

from iree_tuner.build.pool import Builder
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.bench import Bench
from iree_tuner.measure.measurer import Measurer
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.search.registry import make_strategy
from iree_tuner.space.build import build_space
from iree_tuner.space.configuration import Assignment, Configuration, OpConfiguration
from iree_tuner.store.study import StudyKey
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.conditions import setting_on
from iree_tuner.tuning.engine import Engine, Limits
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import open_records
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.stop import StopRequest

PROGRAM = Path(__file__).parent / "programs" / "cpu_matmul_f32.mlir"


@dataclass(frozen=True)
class Case:
    """How many trials on how many devices, and how long the two fakes sleep."""

    trials: int
    devices: int
    jobs: int
    compile_s: float
    measure_s: float
    alternate: bool
    strategy: str


def main() -> None:
    """Run one case and print it as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compile-ms", type=float, default=0.0)
    parser.add_argument("--measure-ms", type=float, default=0.0)
    parser.add_argument("--alternate", action="store_true", help="compile and measure in turns, as on CPUs")
    parser.add_argument("--strategy", default="shuffle")
    given = parser.parse_args()
    case = Case(
        given.trials, given.devices, given.jobs, given.compile_ms / 1e3, given.measure_ms / 1e3,
        given.alternate, given.strategy,
    )  # fmt: skip
    print(json.dumps(run(case)))


def run(case: Case) -> dict[str, object]:
    """Time the engine on a real dispatch's space."""
    target = target_for_device("local-task")
    with Workers(1) as workers:
        (dispatch,) = extract(load_program(PROGRAM), target, workers).dispatches
    assert dispatch.harness is not None
    with Workers(case.jobs) as compilers:
        measurers = [
            Measurer(f"fake://{index}", workers=Workers(1), screen=fake_trials.screen)
            for index in range(case.devices)
        ]
        lab = SimpleNamespace(
            target=target, jobs=case.jobs, alternate=case.alternate, cold=True, compilers=compilers,
            measurers=measurers, measurer=measurers[0],
            builder=Builder(target, compilers, build=fake_trials.build),
        )  # fmt: skip
        try:
            return _timed(case, dispatch, cast(Lab, lab))
        finally:
            for measurer in measurers:
                measurer.close()


def _timed(case: Case, dispatch: Dispatch, lab: Lab) -> dict[str, object]:
    search, key = _search(case, dispatch, lab)
    # Workers start lazily, and importing takes them longer than a trial: that is paid once a run.
    warm = [lab.builder.submit(search.bench.harness, None) for _ in range(4 * case.jobs)]
    for future in warm:
        lab.builder.result(future)
    for measurer in lab.measurers:
        measurer.time(fake_trials.DEFAULT, search.bench)
    stop = StopRequest()
    measured = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.db"
        with open_records(path, "overhead", {}, stop=stop, fresh=False) as records:
            ledger = records.ledger(lambda: key, lambda _: "")
            engine = Engine(search, lab, Limits(case.trials, 16, math.inf), stop, ledger)
            start = time.perf_counter()
            for trial in engine.run():
                measured += trial.measure_s
            wall = time.perf_counter() - start
    assert len(search.trials) == case.trials
    compiling = case.trials * case.compile_s / case.jobs
    measuring = measured / case.devices
    least = compiling + measuring if case.alternate else max(compiling, measuring)
    return {
        "trials": case.trials,
        "devices": case.devices,
        "wall_s": round(wall, 3),
        "overhead_ms_per_trial": round((wall - least) / case.trials * 1e3, 3),
        "devices_busy": round(measured / (case.devices * wall), 3),
    }


def _search(case: Case, dispatch: Dispatch, lab: Lab) -> tuple[Search, StudyKey]:
    """A search whose candidates are those of the dispatch's space, with the times to sleep in them."""
    workload, harness = dispatch.workload, dispatch.harness
    assert workload is not None
    assert harness is not None
    space = build_space(workload, dispatch.limits, new_context())

    def configure(assignment: Assignment) -> Configuration:
        real = space.configuration(assignment)
        text = f"{real.ops[0].value} "
        return Configuration(
            (OpConfiguration(str(case.compile_s), "fake", _executable(text, case.measure_s)),)
        )

    bench = Bench(harness, "fake://0", fake_trials.DEFAULT, tolerance_of(workload))
    strategy = make_strategy(case.strategy, space, 0)
    search = Search(workload.key, configure, strategy, bench, "none", fake_trials.TIME_US)
    setting = setting_on(lab.target)
    return search, StudyKey(setting, workload, "overhead", "overhead", space.label, space.count())


def _executable(text: str, measure_s: float) -> str:
    """Different code for each configuration, with the time to sleep as its second word."""
    return f"{text.replace(' ', '')} {measure_s}"


if __name__ == "__main__":
    main()
