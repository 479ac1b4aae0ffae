"""What the tuner itself costs a trial, beside compiling and measuring; and whether it keeps devices busy.

The whole engine runs, with its worker processes, its database and the space's own configurations; only the
compiler and the device are functions that sleep (`fake_trials.py`).

    python benchmarks/tuner_overhead.py
    python benchmarks/tuner_overhead.py --devices 8 --measure-ms 50 --compile-ms 20
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

sys.path.insert(0, str(Path(__file__).parent))

import fake_trials

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Builder, Built
from iree_tuner.measure.measurer import Measurer
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.search.strategy import Strategy, make_strategy
from iree_tuner.space.build import build_space
from iree_tuner.space.configuration import Assignment, Configuration, OpConfiguration
from iree_tuner.store.trial import StudyKey, Trial
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.candidate import CompileLimits, setting_on
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.search import InTurns, Search
from iree_tuner.tuning.stop import StopRequest

PROGRAM = Path(__file__).parent.parent / "programs" / "ops" / "cpu_matmul_f32.mlir"


@dataclass(frozen=True)
class Case:
    """Trials, devices, compile workers; seconds that the two fakes sleep, for one candidate after another."""

    trials: int
    devices: int
    jobs: int
    durations: tuple[tuple[float, float], ...]
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
        given.trials, given.devices, given.jobs, ((given.compile_ms / 1e3, given.measure_ms / 1e3),),
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
            measurers=measurers, measurer=measurers[0], news=[], loader=None, settle=lambda: None,
            queued=1 if case.alternate else 2, builder=Builder(target, compilers, build=fake_trials.build),
        )  # fmt: skip
        try:
            return _timed(case, dispatch, cast(Lab, lab))
        finally:
            for measurer in measurers:
                measurer.close()


def _timed(case: Case, dispatch: Dispatch, lab: Lab) -> dict[str, object]:
    kind = Faked(case, dispatch, lab)
    # Workers start lazily, and importing takes them longer than a trial: that is paid once a run.
    warm = [lab.builder.submit(kind.bench.harness, None) for _ in range(4 * case.jobs)]
    for future in warm:
        lab.builder.result(future)
    for measurer in lab.measurers:
        measurer.time(fake_trials.DEFAULT, kind.bench)
    stop = StopRequest()
    measured = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.db"
        with open_records(path, "overhead", {}, stop=stop, fresh=False) as records:
            search = Search(kind, kind.strategy(case.strategy, 0), records, cap=case.trials)
            start = time.perf_counter()
            for _, trial in Engine(lab, stop, 16).run(InTurns([search])):
                measured += trial.measure_s
            wall = time.perf_counter() - start
    assert len(search.trials) == case.trials, f"{len(search.trials)} of {case.trials}"
    compiling = case.trials * case.durations[0][0] / case.jobs
    measuring = measured / case.devices
    least = compiling + measuring if case.alternate else max(compiling, measuring)
    return {
        "trials": case.trials,
        "devices": case.devices,
        "wall_s": round(wall, 3),
        "overhead_ms_per_trial": round((wall - least) / case.trials * 1e3, 3),
        "devices_busy": round(measured / (case.devices * wall), 3),
    }


class Faked:
    """A `CandidateKind`: the dispatch's space, with the times to sleep in its configurations."""

    name, default_us, own_digest, most_places, wrong = "", fake_trials.TIME_US, "none", 1, ""
    limits = CompileLimits()

    def __init__(self, case: Case, dispatch: Dispatch, lab: Lab) -> None:
        workload, harness = dispatch.workload, dispatch.harness
        assert workload is not None
        assert harness is not None
        self._lab, self._workload = lab, workload
        self._durations = itertools.cycle(case.durations)
        self._space = build_space(workload, dispatch.limits, new_context())
        self.workload = workload.key
        self.bench = Bench(harness, "fake://0", fake_trials.DEFAULT, tolerance_of(workload))
        self.default = Built("ok", fake_trials.DEFAULT)
        self.size = self._space.count()

    def strategy(self, name: str, seed: int) -> Strategy:
        """By its name."""
        return make_strategy(name, self._space, seed)

    def study(self) -> StudyKey:
        """Of its own."""
        setting, space = setting_on(self._lab.target), self._space
        return StudyKey(setting, self._workload, "overhead", "overhead", space.label, space.count())

    def submit(
        self, assignment: Assignment, limits: CompileLimits, *, place: int, verify: bool
    ) -> Future[Built]:
        """What sleeps in a compile worker, and then on the device."""
        del limits, place, verify
        text = f"{self._space.configuration(assignment).ops[0].value} "
        compile_s, measure_s = next(self._durations)
        operation = OpConfiguration(str(compile_s), "fake", _executable(text, measure_s))
        return self._lab.builder.submit(self.bench.harness, Configuration((operation,)))

    def reproduce(self, trial: Trial) -> str:
        """Nothing fails."""
        return trial.reproducer


def _executable(text: str, measure_s: float) -> str:
    """Different code for each configuration, with the time to sleep as its second word."""
    return f"{text.replace(' ', '')} {measure_s}"


if __name__ == "__main__":
    main()
