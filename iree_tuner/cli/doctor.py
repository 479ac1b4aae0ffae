"""`iree-tuner doctor`: check the installation."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from iree_tuner import __version__
from iree_tuner.cli.database import default_database
from iree_tuner.cli.output import print_json
from iree_tuner.compiler.versions import RELEASE, installed
from iree_tuner.execute.device_facts import processor_name, usable_cores
from iree_tuner.execute.sensors import describe
from iree_tuner.targets import cuda, llvm_cpu
from iree_tuner.targets.cuda_devices import cuda_devices
from iree_tuner.targets.find import BACKENDS

_EXTRAS = {"onnx": "reads .onnx models", "jax": "exports the examples", "lit": "runs the tests"}


def doctor(*, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
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
    sensors = describe(llvm_cpu.DRIVERS[0])
    gpus = {f"cuda://{each.index}": each for each in cuda_devices()}
    others = [backend for backend in BACKENDS if backend != "llvm-cpu" and not (gpus and backend == "cuda")]
    record: dict[str, object] = {
        "iree_tuner": __version__,
        "python": platform.python_version(),
        **versions,
        "release": RELEASE,
        "fits": fits,
        "processor": processor_name(),
        "cores": usable_cores(),
        "devices": [*llvm_cpu.DRIVERS, *gpus],
        "gpus": {
            uri: {"name": each.name, "uuid": each.uuid, "chip": cuda.chip_for(each.capability)}
            for uri, each in gpus.items()
        },
        "sensors": sensors,
        "database": str(default_database()),
        "compile_only": others,
        "extras": extras,
    }
    if as_json:
        print_json(record)
        return 0 if fits else 1
    console = Console(highlight=False)
    console.print(f"iree_tuner {__version__}, Python {platform.python_version()}")
    for name, version in versions.items():
        mark = "" if version == RELEASE else f"  <- requires {RELEASE}: pip install {name}=={RELEASE}"
        console.print(f"  {name} {version or 'not installed'}{mark}")
    console.print(f"  {processor_name()}, {usable_cores()} usable cores")
    console.print(f"  devices: {', '.join(llvm_cpu.DRIVERS)}")
    for uri, each in gpus.items():
        level = ".".join(map(str, each.capability))
        chip = cuda.chip_for(each.capability) or "no architecture that IREE knows"
        console.print(f"  {uri}: {each.name}, compute capability {level}, compiles for {chip}")
    console.print(f"  {_told(sensors)}")
    console.print(f"  database: {default_database()}")
    console.print(f"  can compile for, but not measure: {', '.join(others)}")
    for name, found in extras.items():
        console.print(f"  {name}: {'installed' if found else 'not installed'} ({_EXTRAS[name]})")
    return 0 if fits else 1


def _told(sensors: Mapping[str, object]) -> str:
    """Describe the sensors that are read during a measurement."""
    names = {"clock_mhz": "clock", "temperature_c": "temperature", "throttling": "throttling"}
    found = [name for key, name in names.items() if sensors[key]]
    missing = [name for key, name in names.items() if not sensors[key]]
    text = f"sensors ({sensors['source']}): {', '.join(found) or 'none'}"
    return f"{text}; not available: {', '.join(missing)}" if missing else text
