"""What a run was taken under, for its records and for the annotations of its specs."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

from iree_tuner.compiler.versions import installed
from iree_tuner.measure.setting import Setting
from iree_tuner.measure.statistics import Comparison
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.entry import Provenance, SpecEntry
from iree_tuner.targets import Target
from iree_tuner.tuning.lab import usable_cores
from iree_tuner.tuning.task import Task


def setting_on(target: Target, *, cold: bool = True) -> Setting:
    """The setting of this process on this machine."""
    versions = installed()
    return Setting(
        compiler=versions["iree-base-compiler"] or "",
        runtime=versions["iree-base-runtime"] or "",
        target=str(target),
        flags=target.flags,
        device=target.device or "",
        processor=processor_name(),
        cores=usable_cores(),
        cold=cold,
    )


def processor_name() -> str:
    """The CPU as it names itself, with family and model where it keeps its name to itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    split = (line.partition(":") for line in lines)
    fields = {name.strip(): value.strip() for name, colon, value in split if colon}
    name = fields.get("model name", platform.machine())
    if "cpu family" in fields and "model" in fields:
        name = f"{name} (family {fields['cpu family']}, model {fields['model']})"
    return name


def entry_with_provenance(
    task: Task, configuration: Configuration, comparison: Comparison, target: Target
) -> SpecEntry:
    """A spec entry that says where and how its gain was measured."""
    setting = setting_on(target)
    measured = Provenance(
        speedup=comparison.speedup,
        interval=comparison.interval,
        default_us=comparison.default_us,
        tuned_us=comparison.candidate_us,
        samples=comparison.pairs,
        device=setting.device,
        chip=f"{setting.processor}, {setting.cores} cores",
        compiler=setting.compiler,
        date=datetime.now(UTC).date().isoformat(),
        dispatch=task.dispatches[0].name,
    )
    return SpecEntry(task.workload, configuration, measured)
