"""The conditions of a run, for its records and for the annotations of its specs."""

from __future__ import annotations

from datetime import UTC, datetime

from iree_tuner.compiler.versions import installed
from iree_tuner.device.device_facts import DeviceFacts, facts_of
from iree_tuner.measure.statistics import Comparison
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.entry import Provenance, SpecEntry
from iree_tuner.store.trial import Setting
from iree_tuner.targets import Target
from iree_tuner.tuning.task import Task


def setting_on(target: Target, facts: DeviceFacts | None = None, *, cold: bool = True) -> Setting:
    """The setting of this process, with a device whose host says this of it; by default of this machine."""
    versions = installed()
    uri = target.device or ""
    facts = facts or facts_of(uri)
    return Setting(
        compiler=versions["iree-base-compiler"] or "",
        runtime=versions["iree-base-runtime"] or "",
        target=str(target),
        flags=target.flags,
        device=uri.partition("://")[0],
        processor=facts.name,
        cores=facts.units,
        driver=facts.driver,
        cold=cold,
    )


def entry_with_provenance(
    task: Task, configuration: Configuration, comparison: Comparison, target: Target, facts: DeviceFacts
) -> SpecEntry:
    """A spec entry that says where and how its gain was measured."""
    setting = setting_on(target, facts)
    measured = Provenance(
        speedup=comparison.speedup,
        interval=comparison.interval,
        default_us=comparison.default_us,
        tuned_us=comparison.candidate_us,
        samples=comparison.pairs,
        device=target.device or "",
        chip=f"{setting.processor}, {setting.cores} cores",
        compiler=setting.compiler,
        date=datetime.now(UTC).date().isoformat(),
        dispatch=task.dispatches[0].name,
    )
    return SpecEntry(task.workload, configuration, measured)
