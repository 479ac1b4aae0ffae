"""Each dispatch timed alone, for devices that cannot be profiled."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from iree_tuner.device.bench import Bench, Tolerance
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.pool import Builder
from iree_tuner.profiling.attribution import Spent
from iree_tuner.program.dispatch import Dispatch


def time_alone(
    dispatches: Sequence[Dispatch], builder: Builder, measurer: Measurer, *, cold: bool = True
) -> dict[str, Spent]:
    """The time of all calls of each dispatch that the program calls, by name.

    One that cannot be run alone has no time, and a note why.
    """
    called = [dispatch for dispatch in dispatches if dispatch.calls.count]
    building = [builder.submit(each.harness, None) if each.harness else None for each in called]
    built = [builder.result(each) if each else None for each in building]  # nothing compiles from here on
    return {
        dispatch.name: _time_one(dispatch, made, measurer, cold)
        for dispatch, made in zip(called, built, strict=True)
    }


def _time_one(dispatch: Dispatch, built: Built | None, measurer: Measurer, cold: bool) -> Spent:
    calls = float(dispatch.calls.count)
    if dispatch.harness is None or built is None:
        return Spent(0.0, calls, f"not measured: {dispatch.reason or 'it cannot be run alone'}")
    if built.outcome != "ok":
        return Spent(0.0, calls, f"not measured: {built.outcome}: {built.message}")
    bench = Bench(dispatch.harness, measurer.device, built.vmfb, Tolerance(), cold)
    timed = measurer.time_default(bench, checked=False)
    if timed.outcome != "ok":
        return Spent(0.0, calls, f"not measured: {timed.outcome}: {timed.message}")
    note = "called in a loop; one iteration is counted" if dispatch.calls.in_loop else ""
    return Spent(statistics.median(timed.samples_us) * calls, calls, note)
