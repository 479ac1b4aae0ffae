"""What stands for the measuring worker's functions where it is to misbehave. An executable is an order."""

import ctypes
import os

from iree_tuner.device.numerics import Agreement
from iree_tuner.measure.timing import DeviceError, Timed, ended_after

_poisoned = []


def screen(vmfb, bench, limit_us, plan):
    if vmfb == b"abort":
        os.abort()
    if vmfb == b"hang":
        ctypes.CDLL(None).sleep(3600)
    if vmfb in (b"slow run", b"quick run", b"slow run on a GPU"):
        with ended_after("cuda://0" if b"GPU" in vmfb else "local-task", 0.5):
            ctypes.CDLL(None).usleep(0 if vmfb == b"quick run" else 1_500_000)
        ctypes.CDLL(None).usleep(200_000)  # what comes after the run may last
    if vmfb == b"poison":
        _poisoned.append(vmfb)
    if _poisoned:
        raise DeviceError("CUDA_ERROR_ILLEGAL_ADDRESS")
    return Timed("ok", (float(os.getpid()),), message=bench.device)


def rounds(vmfbs, bench, count, batch_s):
    if b"poison" in vmfbs:
        raise DeviceError("CUDA_ERROR_ILLEGAL_ADDRESS")
    return [[10.0 * (1 + index) for index in range(len(vmfbs))] for _ in range(count)]


def agree(vmfb, bench, seeds):
    screen(vmfb, bench, None, None)
    return Agreement(True, 0.5, note=str(seeds))
