"""Hostile candidates through the whole engine, in real workers."""

import os
import random

import psutil
import pytest
from amounts import amount
from tuning.fakes import close, fake_lab, fake_search
from tuning.misbehaving import words_of

from iree_tuner.compiler.worker import Workers
from iree_tuner.space.configuration import Configuration
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.search import InTurns
from iree_tuner.tuning.stop import StopRequest

ENDS = {
    "": {"ok"},
    "abort": {"compile_crash"},
    "segfault": {"compile_crash"},
    "exit": {"compile_crash"},
    "kill": {"compile_crash"},
    "hang": {"compile_timeout"},
    "eat": {"compile_crash"},
    "flood": {"ok"},
    "orphan": {"ok"},
    "orphan-session": {"ok"},
    "refuse": {"compile_error"},
    "run-abort": {"run_crash"},
    "run-segfault": {"run_crash"},
    "run-exit": {"run_crash"},
    "run-kill": {"run_crash"},
    "run-hang": {"run_timeout"},
    "run-flood": {"ok"},
    "run-orphan": {"ok"},
    "refuse-run": {"run_error"},
    "wrong": {"wrong_result"},
}
SLOW = ("hang", "run-hang", "eat")
"""These take a second or more each: fewer of them."""

COUNT = amount(len(ENDS), 1000)


class Impatient(Workers):
    """Workers that end a call after a second if its candidate hangs, and wait long for all others."""

    def submit(self, function, *args, timeout_s, **kwargs):
        hangs = any(fault in words_of(text) for fault, text in map(self._made_of, args))
        return super().submit(function, *args, timeout_s=1.0 if hangs else timeout_s, **kwargs)

    @staticmethod
    def _made_of(argument):
        """The word for hanging with this argument, and the candidate's text, if it has one."""
        if isinstance(argument, Configuration):
            return "hang", argument.ops[0].value
        return "run-hang", argument.decode() if isinstance(argument, bytes) else ""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("alternate", [False])
def test_faults_end_in_exactly_one_way_each(alternate):
    rng = random.Random(2026)
    weights = [0.1 if fault in SLOW else 20.0 if fault == "" else 3.0 for fault in ENDS]
    faults = rng.choices(list(ENDS), weights, k=COUNT)
    faults[: len(ENDS)] = list(ENDS)
    texts = [f"code:{index + 1} time:100 {fault}" for index, fault in enumerate(faults)]
    me = psutil.Process()
    others = me.children(recursive=True)  # of other tests
    workers = Impatient(4, memory_bytes=256 << 20)
    measuring = [Impatient(1) for _ in range(2)]
    lab = fake_lab(
        alternate=alternate, jobs=4, workers=workers, measuring=measuring, timeout_s=60.0, setup_s=60.0
    )
    stop = StopRequest()
    search = fake_search(texts, lab, stop=stop)
    resident = []
    ended = {}
    try:
        for _, trial in Engine(lab, stop, 16).run(InTurns([search])):
            place = trial.assignment["x"]
            assert place not in ended
            ended[place] = trial.outcome
            resident.append(me.memory_info().rss)
    finally:
        close(lab)
    assert sorted(ended) == list(range(COUNT))
    wrong = {
        (faults[place], outcome) for place, outcome in ended.items() if outcome not in ENDS[faults[place]]
    }
    assert not wrong
    left = [each.cmdline() for each in me.children(recursive=True) if is_ours(each) and each not in others]
    assert not left
    assert not [process for process in psutil.process_iter() if is_orphan(process)]
    early, late = max(resident[COUNT // 5 : COUNT // 4]), max(resident[-COUNT // 10 :])
    assert late - early < 20 << 20, "the caller's memory grows"


def is_ours(process):
    try:
        return "resource_tracker" not in " ".join(process.cmdline())
    except psutil.Error:
        return False


def is_orphan(process):
    """A grandchild that a fault left behind."""
    try:
        return process.cmdline()[-1:] == ["import time; time.sleep(3600)"] and process.pid != os.getpid()
    except psutil.Error:
        return False
