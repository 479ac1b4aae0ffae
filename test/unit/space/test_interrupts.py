"""z3 must leave signals to Python: it would take Ctrl-C, and call everything illegal afterwards."""

import os
import signal
import threading
import time

from iree.compiler import ir
from space.made_workloads import matmul

from iree_tuner.space.build import build_space
from iree_tuner.targets import CpuLimits


def test_signals_reach_python_while_the_judge_works(context: ir.Context) -> None:
    space = build_space(matmul(64, 64, 128), CpuLimits(), context)
    member = space.sample(1, seed=0)[0]
    heard: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    done = threading.Event()

    def shower() -> None:
        while not done.wait(0.002):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=shower)
    thread.start()
    try:
        while len(heard) < 20:
            assert space.contains(member)
    finally:
        done.set()
        thread.join()
        time.sleep(0.05)
        signal.signal(signal.SIGINT, previous)
