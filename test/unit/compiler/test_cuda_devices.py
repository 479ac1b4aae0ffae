"""CUDA's driver, played by a library of plain functions."""

import ctypes

import pytest

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.targets import cuda, target_for_device
from iree_tuner.targets.cuda import CudaDevice

UUID = bytes(range(16))


class Driver:
    """Two GPUs: an H200 and something old."""

    cuInit = staticmethod(lambda flags: 0)  # noqa: N815
    levels = ((9, 0), (5, 2))

    def cuDeviceGetCount(self, count):  # noqa: N802
        count._obj.value = len(self.levels)
        return 0

    def cuDeviceGet(self, handle, index):  # noqa: N802
        handle._obj.value = index
        return 0

    def cuDeviceGetName(self, name, size, handle):  # noqa: N802
        name.value = (b"NVIDIA H200", b"Old")[handle.value]
        return 0

    def cuDeviceGetUuid(self, uuid, handle):  # noqa: N802
        ctypes.memmove(uuid, UUID if handle.value == 0 else UUID[::-1], 16)
        return 0

    def cuDeviceGetAttribute(self, value, attribute, handle):  # noqa: N802
        value._obj.value = self.levels[handle.value][attribute - 75]
        return 0


@pytest.fixture
def driver(monkeypatch):
    cuda.cuda_devices.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    yield
    cuda.cuda_devices.cache_clear()


def test_gpus_and_what_they_are_compiled_for(driver):
    first = CudaDevice(0, "NVIDIA H200", "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", (9, 0))
    assert cuda.cuda_devices()[0] == first
    for uri in ("cuda", "cuda://0", f"cuda://{first.uuid}"):
        target = target_for_device(uri)
        assert str(target) == "cuda:sm_89"
        assert target.device == uri
    assert str(target_for_device("cuda://0", "host+O2")) == "cuda:sm_89+O2"
    assert str(target_for_device("cuda://0", "sm_90")) == "cuda:sm_90", "what is asked for stays"


@pytest.mark.parametrize("uri", ["cuda://1", "vulkan"])
def test_what_nobody_tells_has_to_be_said(driver, uri):
    with pytest.raises(UsageError, match="the chip of") as told:
        target_for_device(uri)
    assert "pass --chip:" in told.value.hint


def test_the_devices_that_there_are_are_told(driver):
    with pytest.raises(UsageError, match="no device 'cuda://7'") as told:
        target_for_device("cuda://7")
    assert "cuda://0 (" in told.value.hint


def test_without_a_driver_that_is_told(monkeypatch):
    monkeypatch.setattr(cuda, "cuda_devices", lambda: ())
    with pytest.raises(TunerError, match="no CUDA driver was found"):
        target_for_device("cuda://0")
    assert target_for_device("cuda://0", "sm_90").device == "cuda://0", "to compile for it"


def test_without_a_driver(monkeypatch):
    def missing(name):
        raise OSError(name)

    cuda.cuda_devices.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert cuda.cuda_devices() == ()
    cuda.cuda_devices.cache_clear()


@pytest.mark.parametrize(
    ("capability", "chip"),
    [((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_89"), ((10, 0), "sm_89"), ((12, 0), "sm_120"),
     ((5, 2), None)],
)  # fmt: skip
def test_the_newest_that_iree_knows(capability, chip):
    assert cuda.chip_for(capability) == chip
