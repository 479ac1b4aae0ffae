"""What machines say of themselves: on files that look like /proc and /sys, and on false libraries."""

import os
import sys
from types import SimpleNamespace

import pytest

from iree_tuner.device import device_facts
from iree_tuner.device.device_facts import CACHE, copies_for, device_setting, last_level_cache, own_cache
from iree_tuner.device.hal_device import HalDevice, find_hal_device
from iree_tuner.device.outcome import UNKNOWN
from iree_tuner.device.sensors import describe, sensors_for
from iree_tuner.device.sensors.amd import open_amd
from iree_tuner.device.sensors.cpu import CpuSensors
from iree_tuner.device.sensors.nvidia import open_nvidia
from iree_tuner.errors import UsageError
from iree_tuner.program.bindings import Harness
from iree_tuner.targets.machine import processor_name

TICK = os.sysconf("SC_CLK_TCK")


class Machine:
    """A machine's /proc and /sys, with a clock of its own."""

    def __init__(self, root, monkeypatch):
        self.root = root
        self.now = 100.0
        self.own_s = 0.0
        self.cores = sorted(os.sched_getaffinity(0))
        module = "iree_tuner.device.sensors.cpu"
        monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(os, "times", lambda: SimpleNamespace(user=self.own_s, system=0.0))

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def stat(self, busy_s, stolen_s=0.0):
        busy, stolen = round(busy_s * TICK), round(stolen_s * TICK)
        self.write("proc/stat", f"cpu {busy} 0 0 500 0 0 0 {stolen} 0 0\ncpu0 0\ncpu1 0\nintr 5")

    def clocks(self, mhz):
        for core in self.cores:
            self.write(f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", mhz * 1000)

    def throttled(self, count):
        self.write(f"sys/devices/system/cpu/cpu{self.cores[0]}/thermal_throttle/core_throttle_count", count)

    def cache(self, level, size, shared, core=None, kind="Unified"):
        for each in self.cores if core is None else [core]:
            folder = f"sys/devices/system/cpu/cpu{each}/cache/index{level}{kind[0]}"
            for name, value in (
                ("level", level),
                ("size", size),
                ("shared_cpu_list", shared),
                ("type", kind),
            ):
                self.write(f"{folder}/{name}", value)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def test_a_machine_that_tells_nothing_is_no_error(machine):
    sensors = CpuSensors(machine.root)
    sensors.start()
    assert not sensors.disturbed()
    assert sensors.readings() == UNKNOWN
    assert not sensors.tells_throttling


def test_nonsense_in_files_is_no_error(machine):
    machine.write("proc/stat", "cpu x y")
    machine.clocks(0)
    machine.write(f"sys/devices/system/cpu/cpu{machine.cores[0]}/cpufreq/scaling_cur_freq", "<unknown>")
    machine.write("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp")
    machine.write("sys/class/thermal/thermal_zone0/temp", "hot")
    sensors = CpuSensors(machine.root)
    sensors.start()
    assert not sensors.disturbed()
    assert sensors.readings().temperature_c is None
    assert sensors.readings().load is None


def test_load_is_what_others_do_and_stolen_what_nobody_here_did(machine):
    machine.stat(10.0, 1.0)
    sensors = CpuSensors(machine.root)
    sensors.start()
    machine.now += 2.0
    machine.own_s += 3.0
    machine.stat(10.0 + 3.0 + 1.0, 1.0 + 0.4)
    found = sensors.readings()
    assert found.load == pytest.approx(0.5)
    assert found.stolen == pytest.approx(0.1)
    sensors.start()
    machine.now += 2.0
    machine.own_s += 3.0  # more than the machine's ticks have seen yet
    assert sensors.readings().load == 0.0
    sensors.start()
    machine.now += 0.001
    assert sensors.readings().load is None


def test_the_clock_is_the_mean_and_the_temperature_the_hottest(machine):
    machine.clocks(3000)
    for zone, (kind, value) in enumerate(
        [("x86_pkg_temp", 51000), ("iwlwifi_1", 99000), ("cpu-thermal", 62000)]
    ):
        machine.write(f"sys/class/thermal/thermal_zone{zone}/type", kind)
        machine.write(f"sys/class/thermal/thermal_zone{zone}/temp", value)
    for index, (name, value) in enumerate([("nvme", 90000), ("k10temp", 70500)]):
        machine.write(f"sys/class/hwmon/hwmon{index}/name", name)
        machine.write(f"sys/class/hwmon/hwmon{index}/temp1_input", value)
    sensors = CpuSensors(machine.root)
    sensors.start()
    machine.clocks(2600)
    assert sensors.readings().clock_mhz == pytest.approx(2800)
    assert sensors.readings().temperature_c == pytest.approx(70.5)


def test_without_a_governor_the_clock_is_what_the_kernel_lists(machine):
    machine.write("proc/cpuinfo", "cpu MHz\t\t: 2000.5\nmodel name : Some CPU\ncpu MHz\t\t: 2500.0")
    sensors = CpuSensors(machine.root)
    sensors.start()
    assert sensors.readings().clock_mhz == 2500.0
    assert processor_name(machine.root) == "Some CPU"


def test_throttling_and_a_moved_clock_disturb_once_each(machine):
    machine.clocks(3000)
    machine.throttled(7)
    sensors = CpuSensors(machine.root)
    assert sensors.tells_throttling
    sensors.start()
    machine.clocks(4000)  # from idle to work
    assert not sensors.disturbed()
    machine.clocks(3900)
    assert not sensors.disturbed()
    machine.clocks(3000)
    assert sensors.disturbed()
    assert not sensors.disturbed()
    machine.throttled(8)
    assert sensors.disturbed()
    assert not sensors.disturbed()
    machine.throttled(9)
    sensors.start()
    assert not sensors.disturbed()


class FakeNvml:
    """The module `pynvml` on a machine with two GPUs; the calls in `broken` fail."""

    def __init__(self, *broken):
        self.clock, self.reasons, self.broken = 1980, 0, broken

    def __getattr__(self, name):
        known = {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetUUID": lambda index: [b"GPU-00000000-aa", "GPU-11111111-BB"][index],
            "nvmlDeviceGetClockInfo": lambda index, kind: self.clock if (index, kind) == (1, 1) else 1,
            "nvmlDeviceGetCurrentClocksEventReasons": lambda index: self.reasons,
            "nvmlDeviceGetTemperature": lambda index, sensor: 64,
            "nvmlSystemGetDriverVersion": lambda: "580.1",
            "nvmlDeviceGetName": lambda index: "NVIDIA H100 80GB HBM3",
            "nvmlDeviceGetNumGpuCores": lambda index: 132 * 128,
            "nvmlDeviceGetCudaComputeCapability": lambda index: [9, 0],
            "nvmlDeviceGetMemoryInfo": lambda index: SimpleNamespace(total=80 << 30),
        }
        if name in self.broken or name not in known:
            raise AttributeError(name)
        return known[name]


def test_nvidia_is_found_by_uuid_and_read(monkeypatch):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    sensors = open_nvidia("11111111bb")
    sensors.start()
    assert not sensors.disturbed()
    nvml.clock = 1900
    assert not sensors.disturbed()
    assert sensors.readings().clock_mhz == 1940
    assert sensors.readings().temperature_c == 64
    assert sensors.identity() == ("NVIDIA H100 80GB HBM3", "580.1", 132)
    assert sensors.memory_bytes() == 80 << 30
    assert open_nvidia("22") is None
    assert open_nvidia("") is None


@pytest.mark.parametrize(
    ("reasons", "disturbed"), [(0, False), (1, False), (2, False), (3, False), (4, True), (0x60, True)]
)
def test_nvidia_says_what_holds_the_clock(monkeypatch, reasons, disturbed):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    sensors = open_nvidia("11111111bb")
    sensors.start()
    nvml.reasons = reasons
    assert sensors.disturbed() is disturbed


def test_nvidia_clock_that_moves_disturbs(monkeypatch):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    sensors = open_nvidia("11111111bb")
    sensors.start()
    assert not sensors.disturbed()
    nvml.clock = 1200
    assert sensors.disturbed()
    assert not sensors.disturbed()


def test_nvidia_without_some_functions_knows_less(monkeypatch):
    nvml = FakeNvml(
        "nvmlDeviceGetClockInfo", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetTemperature"
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    sensors = open_nvidia("11111111bb")
    sensors.start()
    assert not sensors.disturbed()
    assert sensors.readings() == UNKNOWN
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml("nvmlInit"))
    assert open_nvidia("11111111bb") is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_nvidia("11111111bb") is None


class FakeSmi:
    """The module `amdsmi`; metrics are "N/A" where a GPU does not have them."""

    AmdSmiClkType = SimpleNamespace(GFX="gfx")
    AmdSmiTemperatureType = SimpleNamespace(HOTSPOT="hotspot")
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT="current")

    def __init__(self):
        self.clock, self.violations, self.throttle = 2100, {"acc_ppt_pwr": 5, "acc_hbm_thrm": "N/A"}, "N/A"

    def amdsmi_init(self):
        pass

    def amdsmi_get_processor_handles(self):
        return ["first", "second"]

    def amdsmi_get_gpu_enumeration_info(self, handle):
        return {"hip_uuid": {"first": "GPU-ab", "second": "GPU-cd"}[handle]}

    def amdsmi_get_clock_info(self, handle, kind):
        return {"clk": self.clock if (handle, kind) == ("second", "gfx") else 0}

    def amdsmi_get_temp_metric(self, handle, sensor, metric):
        return 71

    def amdsmi_get_violation_status(self, handle):
        return self.violations

    def amdsmi_get_gpu_metrics_info(self, handle):
        return {"throttle_status": self.throttle}


def test_amd_is_found_by_uuid_and_read(monkeypatch):
    smi = FakeSmi()
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    sensors = open_amd("cd")
    sensors.start()
    assert not sensors.disturbed()
    assert (sensors.readings().clock_mhz, sensors.readings().temperature_c) == (2100, 71)
    smi.violations = {"acc_ppt_pwr": 6}
    assert sensors.disturbed()
    assert not sensors.disturbed()
    smi.throttle = 1
    assert sensors.disturbed()
    assert sensors.identity() == ("", "", 0)
    assert open_amd("ef") is None
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert open_amd("cd") is None


def test_every_device_has_sensors_and_can_be_described():
    for uri in ("local-task", "local-sync", "cuda", "hip://GPU-none", "no-such-driver"):
        sensors = sensors_for(uri)
        sensors.start()
        assert sensors.disturbed() in (True, False)
        sensors.readings()
        assert describe(uri)["source"] == ("cpu" if uri.startswith("local-") else "none")


def test_a_gpus_readings_carry_the_load_of_its_host(monkeypatch):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    gpu = HalDevice("cuda", "some GPU", "11111111bb")
    monkeypatch.setattr("iree_tuner.device.sensors.find_hal_device", lambda uri: gpu)
    sensors = sensors_for("cuda")
    sensors.start()
    assert sensors.readings().clock_mhz == 1980
    assert describe("cuda") == {
        "source": "nvidia",
        "clock_mhz": 1980,
        "temperature_c": 64,
        "throttling": True,
    }
    monkeypatch.setattr(device_facts, "find_hal_device", lambda uri: gpu)
    assert device_setting("cuda") == ("NVIDIA H100 80GB HBM3", "580.1", 132)
    assert last_level_cache("cuda") == 50 << 20
    assert device_facts.memory_bytes("cuda") == 80 << 30


def test_a_vulkan_device_is_described_by_the_runtime(monkeypatch):
    facts = (("driver", "radv"), ("driver_info", "Mesa 25.1"))
    device = HalDevice("vulkan", "AMD Radeon RX 7900 XTX (RADV NAVI31)", "ab", facts=facts)
    monkeypatch.setattr(device_facts, "find_hal_device", lambda uri: device)
    assert device_setting("vulkan") == (device.name, "radv Mesa 25.1", 0)
    assert last_level_cache("vulkan") == 96 << 20
    assert device_facts.memory_bytes("vulkan") is None


def test_local_devices_are_the_cpu():
    assert find_hal_device("local-task").on_host
    name, driver, cores = device_setting("local-task")
    assert (name, driver, cores) == (processor_name(), "", len(os.sched_getaffinity(0)))


def test_caches_are_summed_over_instances_of_the_last_level(machine, monkeypatch):
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 8})
    for core, shared in ((0, "0-7"), (1, "0-7"), (8, "8-15"), (9, "8-15"), (16, "16-23")):
        machine.cache(3, "32768K", shared, core)
        machine.cache(2, "1M", str(core), core)
        machine.cache(4, "1G", "0-23", core, kind="Instruction")
    assert last_level_cache("local-task", machine.root) == 64 << 20
    assert last_level_cache("local-task", machine.root / "nothing") == 64 << 20
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {16})
    assert last_level_cache("local-task", machine.root) == 32 << 20
    monkeypatch.setenv(CACHE, "8000000")
    assert last_level_cache("local-task", machine.root) == 8_000_000
    for wrong in ("0", "8M", "-1"):
        monkeypatch.setenv(CACHE, wrong)
        with pytest.raises(UsageError, match=f"{CACHE} is not a number of bytes: '{wrong}'"):
            last_level_cache("local-task", machine.root)


def test_a_virtual_machine_has_a_share_of_its_hosts_cache(machine, monkeypatch):
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    for core in (0, 1):
        machine.cache(3, "480M", "0-1", core)
    machine.write("proc/cpuinfo", "model name : of a host\nflags : fpu avx2\nflags : fpu avx2")
    assert own_cache("local-task", machine.root) == 480 << 20
    machine.write("proc/cpuinfo", "flags : fpu avx2 hypervisor")
    assert own_cache("local-task", machine.root) == 8 << 20
    monkeypatch.setenv(CACHE, "30000000")
    assert own_cache("local-task", machine.root) == 30_000_000


@pytest.mark.parametrize(
    ("buffer_bytes", "memory", "copies"),
    [
        (1, 1 << 40, (100 << 20) // 4096),
        (50 << 20, 1 << 40, 6),  # more than the own part: all of the cache may hold it
        ((50 << 20) - 8192, 1 << 40, 3),
        (200 << 20, 1 << 40, 2),
        ((10 << 20) - 4096, 80 << 20, 2),
        (60 << 20, 80 << 20, 1),
        (500 << 20, 1 << 40, 1),
        ((60 << 20) - 4096, 1 << 40, 5),
    ],
)
def test_copies_fill_twice_the_cache_within_a_quarter_of_memory(monkeypatch, buffer_bytes, memory, copies):
    limits = 100 << 20, 300 << 20
    harness = Harness(b"", "main", buffer_bytes, ())
    monkeypatch.setattr(device_facts, "_limits", lambda uri: (min(1 << 30, memory // 4), *limits))
    assert copies_for(harness, "cuda", cold=True) == copies
    assert copies_for(harness, "cuda", cold=False) == 1
