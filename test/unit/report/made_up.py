"""Databases with runs that nobody made, small and large, with everything that a report shows."""

import random
from dataclasses import replace

from paired import compare_pairs
from store.samples import KEY, WORKLOAD

from iree_tuner.device.outcome import Readings
from iree_tuner.space.configuration import Assignment
from iree_tuner.store import Store
from iree_tuner.store.trial import Trial

NASTY = "</script><script>alert(1)</script>&\"'`<b>{{ 7*7 }}<!--"
CRASH = f"LLVM ERROR: cannot {NASTY}"

ROOFLINE = {
    "name": "a CPU", "how": "measured: made up",
    "flops_per_s": {"f32": 4e11},
    "levels": [{"bytes_per_s": 2e11, "capacity_bytes": 1 << 21}, {"bytes_per_s": 2e10}],
}  # fmt: skip


def workload(number):
    """Another size for each number."""
    return replace(WORKLOAD, loops=(4 + number, 5, 6))


def fill(path, workloads=3, trials=12, program="model.mlir", seed=0):
    """A run with all findings; its number."""
    rng = random.Random(seed)
    with Store.open(path) as store:
        run = store.start_run(program, {"effort": "quick", "note": NASTY})
        rows = []
        for number in range(workloads):
            key = replace(KEY, workload=workload(number))
            study = store.study(key)
            made = [some_trial(rng, key, at=100.0 * number + place) for place in range(trials)]
            store.add(study, run, made)
            ran = [each for each in made if each.outcome == "ok"]
            ratio = 0.6 + 0.05 * number
            comparison = compare_pairs(
                [([100.0, 101.0, 99.0] * 4, [100.0 * ratio, 99.0 * ratio, 101.0 * ratio] * 4)]
            )
            store.add_verdict(study, run, ran[0].assignment if ran else None, comparison)
            store.add_finding(run, "workload", body(key.workload, comparison, 0.5 ** (number + 1)))
            rows.append(profile_row(key.workload, 100.0 / (number + 1)))
        store.add_finding(run, "profile", profile("before", rows))
        store.add_finding(
            run, "profile", profile("after", [{**row, "time_us": row["time_us"] / 2} for row in rows])
        )
        store.add_finding(run, "whole", {
            "function": "main", "verdict": "win", "speedup": 1.5, "interval": [1.4, 1.6], "default_us": 900.0,
            "time_us": 600.0, "pairs": 80, "flags": ["--iree-opt-level=O3"], "flags_speedup": 1.1,
            "left_out": [NASTY], "note": NASTY,
            "changes": [{"source": "kernels", "where": NASTY, "how": "gemm rows=6", "count": 32}],
            "steps": [{"what": NASTY, "speedup": 0.9, "interval": [0.8, 0.95], "verdict": "lose"}],
        })  # fmt: skip
        store.add_finding(run, "use", {"commands": [f"iree-compile '{NASTY}'"], "spec": "tuned.mlir"})
        store.end_run(run, "done")
    return run


def some_trial(rng, key, at):
    """A trial of six knobs; one in eight fails."""
    knobs = {name: 2 ** rng.randrange(6) for name in ("tile_m", "tile_n", "tile.k", "vector[0]", 'odd"')}
    outcome = rng.choices(("ok", "too_slow", "compile_error", "run_crash"), (6, 1, 1, 0.3))[0]
    ran = outcome in ("ok", "too_slow")
    time_us = 60.0 + sum(knobs.values()) if ran else 0.0
    return Trial(
        key.workload.key, Assignment.of(knobs | {"fixed": 1}), outcome, (time_us, time_us + 1) if ran else (),
        100.0, "" if ran else CRASH, at=at, readings=Readings(2600.0, 50.0, rng.random(), 0.0, 0),
        reproducer="" if ran else f"folder/{NASTY}",
    )  # fmt: skip


def body(tuned, comparison, share):
    """A finding about a workload."""
    return {
        "workload": tuned.name, "key": tuned.key, "share": share, "calls": 2, "verdict": "win",
        "speedup": comparison.speedup, "interval": comparison.interval, "default_us": 100.0,
        "time_us": comparison.candidate_us, "seconds": 12.0, "note": NASTY, "trials": 3,
    }  # fmt: skip


def profile_row(tuned, time_us):
    """A row of a profile."""
    return {
        "name": f"main_dispatch_{tuned.loops[0]}", "workload": tuned.key, "workload_name": tuned.name,
        "calls": 2, "time_us": time_us, "share": time_us / 400.0, "flops": 1e6, "bytes": 1e5 * tuned.loops[0],
        "element_type": "f32", "attainable_us": time_us / 4,
    }  # fmt: skip


def profile(when, rows):
    """A finding about time."""
    other = {"name": NASTY, "workload": "", "calls": 1, "time_us": 5.0, "flops": 0.0, "bytes": 0.0}
    return {
        "when": when, "whole_us": 400.0, "method": "hal", "functions": ["main"], "rows": [*rows, other],
        "roofline": ROOFLINE,
    }  # fmt: skip
