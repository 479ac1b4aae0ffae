"""`iree-tuner doctor`: check the installation."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping

from rich.console import Console

from iree_tuner import __version__
from iree_tuner.cli.db import default_database
from iree_tuner.cli.output import Json, print_json
from iree_tuner.compiler.versions import RELEASE, installed
from iree_tuner.device.device_facts import usable_cores
from iree_tuner.device.sensors import describe
from iree_tuner.targets.machine import processor_name
from iree_tuner.targets.registry import DEFAULT_DEVICE, kinds, on_host

_EXTRAS = {"onnx": "reads .onnx models", "jax": "exports the examples", "lit": "runs the tests"}


def doctor(*, as_json: Json = False) -> int:
    """Check the installation, and list the devices and targets that can be tuned on this machine.

    Exit status 1 if the installed IREE packages do not match this release.

    Example: `iree-tuner doctor`

    Parameters
    ----------
    as_json
        Print JSON, one object.
    """
    versions = installed()
    fits = all(version == RELEASE for version in versions.values())
    extras = {name: importlib.util.find_spec(name) is not None for name in _EXTRAS}
    sensors = describe(DEFAULT_DEVICE)
    devices = {kind.name: kind.devices() for kind in kinds().values() if kind.usual}
    found = [each.uri for own in devices.values() for each in own]
    gpus = [each for own in devices.values() for each in own if each.name]
    others = [name for name, own in devices.items() if not own]
    record: dict[str, object] = {
        "iree_tuner": __version__, "python": platform.python_version(), **versions, "release": RELEASE,
        "fits": fits, "processor": processor_name(), "cores": usable_cores(), "devices": found,
        "gpus": {
            each.uri: {"name": each.name, "uuid": each.uuid, "chip": each.chip or None} for each in gpus
        },
        "sensors": sensors, "database": str(default_database()), "compile_only": others, "extras": extras,
    }  # fmt: skip
    if as_json:
        print_json(record)
        return 0 if fits else 1
    console = Console(highlight=False)
    console.print(f"iree_tuner {__version__}, Python {platform.python_version()}")
    for name, version in versions.items():
        mark = "" if version == RELEASE else f"  <- requires {RELEASE}: pip install {name}=={RELEASE}"
        console.print(f"  {name} {version or 'not installed'}{mark}")
    console.print(f"  {processor_name()}, {usable_cores()} usable cores")
    console.print(f"  devices: {', '.join(each for each in found if on_host(each))}")
    for each in gpus:
        console.print(f"  {each.uri}: {each.name}; compiles for {each.chip or 'no known architecture'}")
    console.print(f"  {_told(sensors)}")
    console.print(f"  database: {default_database()}")
    console.print(f"  can compile for, but not measure: {', '.join(others)}")
    for name, there in extras.items():
        console.print(f"  {name}: {'installed' if there else 'not installed'} ({_EXTRAS[name]})")
    return 0 if fits else 1


def _told(sensors: Mapping[str, object]) -> str:
    names = {"clock_mhz": "clock", "temperature_c": "temperature", "throttling": "throttling"}
    found = [name for key, name in names.items() if sensors[key]]
    missing = [name for key, name in names.items() if not sensors[key]]
    text = f"sensors ({sensors['source']}): {', '.join(found) or 'none'}"
    return f"{text}; not available: {', '.join(missing)}" if missing else text
