"""The conditions of runs, in words."""

from __future__ import annotations

from iree_tuner.report.numbers import day, seconds
from iree_tuner.suite.conditions import Conditions
from iree_tuner.suite.run_facts import RunFacts

_TIMING = {
    "call": "per call: the caller waits for each call before it makes the next",
    "device": "on the device: calls in batches, minus the time of an empty batch",
}
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def facts_words(facts: RunFacts) -> tuple[tuple[str, str], ...]:
    """The known facts of a run, as readable names and values."""
    devices = (f"{name} ({uri})" if name else uri for uri, name in facts.devices.items())
    found = (
        ("device" if len(facts.devices) == 1 else "devices", ", ".join(devices)),
        ("commit", facts.commit),
        ("compiler", f"IREE {facts.compiler}" if facts.compiler else ""),
        ("libraries", ", ".join(f"{name} {each}" for name, each in facts.versions.items() if each)),
        *conditions_words(facts.conditions),
        ("run", facts.id),
        ("interleaved with", facts.against),
        ("started", day(facts.started or None)),
    )
    return tuple((name, value) for name, value in found if value)


def conditions_words(conditions: Conditions) -> tuple[tuple[str, str], ...]:
    """The conditions of samples, as readable names and values."""
    size = conditions.copies_bytes
    cold = f"cold: inputs rotate through {_size(size)} of copies"
    background_load = conditions.background_load_s
    return (
        ("timing", _TIMING[conditions.timing]),
        ("caches", cold if size else "warm: one copy of the inputs"),
        ("threads", f"{conditions.threads} of the host" if conditions.threads else "the device's own"),
        ("streams", f"{conditions.streams} concurrent copies" if conditions.streams > 1 else "1"),
        (
            "background load",
            f"a large product for {_short(background_load)} before each sample"
            if background_load
            else "none",
        ),
        (
            "samples",
            f"up to {conditions.rounds} of at least {_short(conditions.batch_s)}, each after a pause of "
            f"{_short(conditions.pause_s)}; up to {seconds(conditions.seconds)} per operation",
        ),
    )


def _size(bytes_: int) -> str:
    return next((f"{bytes_ / size:.3g} {unit}" for unit, size in _UNITS if bytes_ >= size), f"{bytes_} B")


def _short(duration_s: float) -> str:
    return f"{duration_s:.3g} s" if duration_s >= 1 else f"{duration_s * 1e3:.3g} ms"
