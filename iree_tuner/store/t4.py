"""Export as Kernel Tuner's T4 results, version 1.0.0.

Times are in milliseconds, as Kernel Tuner's own. The schema is kernel_tuner/schema/T4/1.0.0/
results-schema.json in KernelTuner/kernel_tuner.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from iree_tuner.device.outcome import Outcome
from iree_tuner.measure.trial import Trial

VERSION = "1.0.0"

INVALIDITY: dict[Outcome, str] = {
    "ok": "correct",
    "too_slow": "correct",
    "compile_error": "compile",
    "compile_crash": "compile",
    "compile_timeout": "timeout",
    "not_applied": "constraints",
    "run_error": "runtime",
    "run_crash": "runtime",
    "run_timeout": "timeout",
    "wrong_result": "correctness",
}
"""T4's name for each outcome."""


def to_t4(trials: Iterable[Trial]) -> dict[str, object]:
    """The trials of a study as one T4 document."""
    return {"schema_version": VERSION, "results": [_result(trial) for trial in trials]}


def _result(trial: Trial) -> dict[str, object]:
    invalidity = INVALIDITY[trial.outcome]
    times = {
        "compilation_time": trial.compile_s * 1e3,
        "runtimes": [sample / 1e3 for sample in trial.samples_us],
        "framework": 0.0,
        "search_algorithm": 0.0,
        "validation": 0.0,
    }
    measured = [] if trial.time_us is None else [("time", trial.time_us / 1e3, "ms")]
    if trial.time_us is not None and trial.baseline_us > 0:
        measured.append(("relative_time", trial.score, ""))
    return {
        "timestamp": datetime.fromtimestamp(trial.at, UTC).isoformat(),
        "configuration": dict(trial.assignment),
        "objectives": ["time"],
        "times": times,
        "invalidity": invalidity,
        "correctness": int(invalidity == "correct"),
        "measurements": [{"name": name, "value": value, "unit": unit} for name, value, unit in measured],
    }
