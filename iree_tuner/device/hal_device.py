"""Which device a URI names, as IREE's runtime sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import iree.runtime as rt

from iree_tuner.targets import on_host


@dataclass(frozen=True)
class HalDevice:
    """A device of the HAL."""

    driver: str  # `local-task`, `cuda`, `vulkan`, ...
    name: str = ""  # as its driver names it
    uuid: str = ""  # hexadecimal digits only; or empty
    on_host: bool = False  # whether it computes on the host's cores
    # what else the driver reports; for Vulkan, `driver_info` among others
    facts: tuple[tuple[str, str], ...] = ()

    def fact(self, name: str) -> str:
        """One of the facts; empty if it is not reported."""
        return dict(self.facts).get(name, "")


def find_hal_device(uri: str) -> HalDevice:
    """The device that a URI names. Only its driver is known if the driver does not report devices."""
    driver, _, path = uri.partition("://")
    if on_host(driver):
        return HalDevice(driver, on_host=True)
    try:
        opened: Any = rt.get_driver(driver)  # the stubs lack some of its methods
        devices = opened.query_available_devices()
    except (RuntimeError, ValueError):
        return HalDevice(driver)
    for index, each in enumerate(devices):
        if path in ("", str(index)) or plain_uuid(path) == plain_uuid(each["path"]):
            facts = _facts(str(opened.dump_device_info(each["device_id"])))
            name = facts.get("name", str(each["name"]))
            computes_here = facts.get("type") == "cpu"
            return HalDevice(driver, name, plain_uuid(each["path"]), computes_here, tuple(facts.items()))
    return HalDevice(driver)


def _facts(text: str) -> dict[str, str]:
    """Parse lines of `name: value`; CUDA's begin with a dash."""
    split = (line.removeprefix("- ").partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in split if colon and not name.startswith(" ")}


def plain_uuid(text: object) -> str:
    """The hexadecimal digits of a UUID of a GPU."""
    return str(text).lower().removeprefix("gpu-").replace("-", "")
