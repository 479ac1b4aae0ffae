"""Open devices with IREE's runtime: once a process for each."""

from __future__ import annotations

from functools import cache
from typing import Any

import iree.runtime as rt
import numpy as np

from iree_tuner.errors import TunerError

RUNTIME_ERRORS = (RuntimeError, ValueError, IndexError)
"""The Python exceptions of the runtime's statuses: INVALID_ARGUMENT, OUT_OF_RANGE, and all others."""


@cache
def device_for(uri: str) -> tuple[rt.Config, Any]:
    """This process's runtime for a device: its configuration and its HAL module.

    Raises:
        TunerError: there is no such device, or it does not open.
    """
    try:
        config = rt.Config(device=rt.get_device(uri))
    except RUNTIME_ERRORS as error:
        raise TunerError(f"the device does not open: {error}", location=uri) from None
    return config, rt.create_hal_module(config.vm_instance, config.device)


def probe(uri: str) -> None:
    """Use the device for a trifle. Raises one of `RUNTIME_ERRORS` where an earlier run made it unusable."""
    device = device_for(uri)[0].device
    device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=np.zeros(64, np.uint8),
    )
