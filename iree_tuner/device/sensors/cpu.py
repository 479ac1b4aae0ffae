"""The host's CPU, from Linux's /proc and /sys."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.device.sensors.base import Sensors

_WATCHED = 8  # cores whose clocks and counters are read: a file takes 10 us, and there may be 200 cores
_LEAST_S = 0.02  # two of the kernel's ticks: over less, load is all rounding
_THERMAL_ZONES = ("cpu", "pkg", "soc", "acpitz")  # part of the zone's type; others are disks and radios
_HWMON = ("coretemp", "k10temp", "zenpower", "cpu_thermal")


@dataclass(frozen=True)
class _Times:  # seconds since the start of the machine, summed over its cores, and of this process
    at: float
    busy: float
    stolen: float
    own: float
    cores: int


class CpuSensors(Sensors):
    """Clock, throttling, temperature, and load by others. `root` has /proc and /sys; tests have their own."""

    source = "cpu"

    def __init__(self, root: Path = Path("/")) -> None:
        super().__init__()
        self._proc = root / "proc"
        cpus = root / "sys/devices/system/cpu"
        watched = [cpus / f"cpu{number}" for number in _spread(usable(), _WATCHED)]
        self._clocks = [path for cpu in watched if (path := cpu / "cpufreq/scaling_cur_freq").exists()]
        names = ("core_throttle_count", "package_throttle_count")
        paths = (cpu / "thermal_throttle" / name for cpu in watched for name in names)
        self._counters = [path for path in paths if path.exists()]
        self.tells_throttling = bool(self._counters)
        self._temperatures = list(_temperature_files(root / "sys/class"))
        self.start()

    def start(self) -> None:
        super().start()
        self._before = self._times()

    def clock_mhz(self) -> float | None:
        """The clock of the fastest core, which is the one that works."""
        scaled = self.moving_mhz()
        if scaled is not None:
            return scaled
        lines = _text(self._proc / "cpuinfo").splitlines()
        found = [line.partition(":")[2] for line in lines if line.startswith("cpu MHz")]
        values = [value for text in found if (value := _float(text)) is not None]
        return max(values, default=None)

    def moving_mhz(self) -> float | None:
        values = [value for path in self._clocks if (value := _number(path)) is not None]
        return max(values) / 1000.0 if values else None

    def temperature_c(self) -> float | None:
        values = [value for path in self._temperatures if (value := _number(path)) is not None]
        return max(values) / 1000.0 if values else None

    def throttles(self) -> float:
        return sum(_number(path) or 0.0 for path in self._counters)

    def _times(self) -> _Times | None:
        lines = _text(self._proc / "stat").splitlines() or [""]
        values = [value for text in lines[0].split()[1:] if (value := _float(text)) is not None]
        if len(values) < 8 or not any(values):
            return None
        user, nice, system, _, _, irq, soft_irq, stolen = values[:8]  # in ticks; see proc_stat(5)
        tick = os.sysconf("SC_CLK_TCK")
        own = os.times()
        cores = sum(line.startswith("cpu") for line in lines) - 1
        busy = user + nice + system + irq + soft_irq
        return _Times(time.monotonic(), busy / tick, stolen / tick, own.user + own.system, max(1, cores))

    def others(self) -> tuple[float | None, float | None]:
        before, now = self._before, self._times()
        if before is None or now is None or now.at - before.at < _LEAST_S:
            return None, None
        elapsed = now.at - before.at
        load = (now.busy - before.busy - (now.own - before.own)) / elapsed
        stolen = (now.stolen - before.stolen) / elapsed / now.cores
        return max(0.0, load), min(1.0, max(0.0, stolen))


def usable() -> Sequence[int]:
    """The numbers of the cores that this process may use."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return sorted(affinity)


def _spread(values: Sequence[int], count: int) -> list[int]:
    """At most `count` values, evenly spaced: sockets have their own counters."""
    step = max(1, -(-len(values) // count))
    return list(values[::step])


def _temperature_files(root: Path) -> Iterable[Path]:
    for zone in sorted((root / "thermal").glob("thermal_zone*")):
        if any(part in _text(zone / "type").lower() for part in _THERMAL_ZONES):
            yield zone / "temp"
    for monitor in sorted((root / "hwmon").glob("hwmon*")):
        if _text(monitor / "name").strip() in _HWMON:
            yield from sorted(monitor.glob("temp*_input"))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> float | None:
    return _float(_text(path))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
