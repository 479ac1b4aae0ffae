"""Open devices with IREE's runtime: once a process for each."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

import iree.runtime as rt
import numpy as np

from iree_tuner.errors import TunerError
from iree_tuner.targets.kind import RuntimeFlags
from iree_tuner.targets.registry import driver_of, on_host

RUNTIME_ERRORS = (RuntimeError, ValueError, IndexError)
"""The Python exceptions of the runtime's statuses: INVALID_ARGUMENT, OUT_OF_RANGE, and all others."""

OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"
"""The runtime's status, as it is in messages."""


def first_line(error: BaseException) -> str:
    """The runtime's message, without the stack."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@cache
def device_for(uri: str, flags: RuntimeFlags = ()) -> tuple[rt.Config, Any]:
    """This process's runtime for a device: its configuration and its HAL module.

    Raises TunerError for an unknown device, and if it does not open. `flags` are the runtime's, for this
    device only.
    """
    if on_host(uri):
        _do_not_interrupt()
    try:
        config = rt.Config(device=_opened(uri, flags) if flags else rt.get_device(uri))
    except RUNTIME_ERRORS as error:
        raise TunerError(f"the device does not open: {error}", location=uri) from None
    return config, rt.create_hal_module(config.vm_instance, config.device)


def _opened(uri: str, flags: RuntimeFlags) -> rt.HalDevice:
    """A device of a driver of its own: drivers read the process's flags when they are made."""
    create: Any = import_module("iree.runtime._binding").create_hal_driver  # `get_driver` keeps drivers
    rt.flags.parse_flags(*(each.text for each in flags))
    try:
        return create(driver_of(uri)).create_device_by_uri(uri)
    finally:
        rt.flags.parse_flags(*(each.default for each in flags))


def _do_not_interrupt() -> None:
    """Do not let this thread, and threads that it starts, interrupt others when they wake up.

    A thread that waits for `local-task` is woken by a worker, and then spins until that worker has returned
    from waking it (docs/upstream/wait_spins_on_waker.md). If it takes the worker's core before that, both
    lose some milliseconds. `chrt --batch 0` does the same for a process. A policy that the process was given
    stays. Nothing happens on systems without such a policy.
    """
    batch = getattr(os, "SCHED_BATCH", None)
    if batch is not None and os.sched_getscheduler(0) == os.SCHED_OTHER:
        os.sched_setscheduler(0, batch, os.sched_param(0))


def probe(uri: str) -> None:
    """Use the device for a trifle. Raises one of `RUNTIME_ERRORS` if an earlier run made it unusable."""
    device = device_for(uri)[0].device
    device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=np.zeros(64, np.uint8),
    )
