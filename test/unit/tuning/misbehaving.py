"""What a candidate does to its worker: compile and measure as its words say (`fakes.py`).

In a file of its own, which imports little: each worker that dies is followed by one that imports it again.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time

from iree_tuner.device.outcome import DEFAULT_WRONG
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.timing import Timed

DEFAULT = b"code:0 time:100"


def misbehave(word):
    """Do what the word says to this process."""
    if word == "abort":
        os.abort()
    elif word == "segfault":
        ctypes.string_at(0)
    elif word == "exit":
        os._exit(0)
    elif word == "raise-exit":
        sys.exit(0)
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "hang":
        ctypes.CDLL(None).sleep(3600)
    elif word == "eat":
        held = []
        while True:
            held.append(bytearray(16 << 20))
    elif word == "flood":
        for _ in range(200):
            os.write(1, b"flood " * 2000)
    elif word == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    elif word == "orphan-session":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    elif word == "error":
        raise ValueError("a bug in the task")


def words_of(text):
    return {word.partition(":")[0]: word.partition(":")[2] for word in text.split()}


def fake_build(harness, flags, configuration, placement=0, most_ops=0, verify=True):
    """A compiler: the executable is the configuration's own text."""
    text = configuration.ops[0].value if configuration else DEFAULT.decode()
    words = words_of(text)
    time.sleep(float(words.get("compile", 0)))
    for word in words:
        misbehave(word)
    if "refuse" in words or (verify and "invalid" in words):
        return Built("compile_error", message="the compiler refuses 4096 things", seconds=0.01)
    kept = " ".join(word for word in text.split() if not word.startswith(("compile:", "id:")))
    return Built("ok", kept.encode(), seconds=float(words.get("compile", 0)))


def fake_screen(vmfb, bench, limit_us, plan=None):
    """A device: an executable says itself how long it takes."""
    words = words_of(vmfb.decode())
    time.sleep(float(words.get("measure", 0)))
    for word in words:
        misbehave(word.removeprefix("run-") if word.startswith("run-") else "")
    if "refuse-run" in words:
        return Timed("run_error", message="the device refuses")
    if "wrong" in words:
        return Timed("wrong_result", message="at [0, 1]: 3 instead of 4")
    time_us = float(words["time"])
    if limit_us is not None and time_us > limit_us:
        return Timed("too_slow", (time_us,))
    return Timed("ok", (time_us, time_us), f"{DEFAULT_WRONG}: at [0]" if "mends" in words else "")
