"""Processes that open a device."""

import os
import subprocess
import sys

import pytest

POLICY = """
import os
from iree_tuner.targets.runtime import device_for
{before}
device_for("local-sync")
print(os.sched_getscheduler(0))
"""


def policy_with(before):
    program = [sys.executable, "-c", POLICY.format(before=before)]
    return int(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="the operating system has no such policy")
@pytest.mark.parametrize(("given", "used"), [("SCHED_OTHER", "SCHED_BATCH"), ("SCHED_IDLE", "SCHED_IDLE")])
def test_threads_that_wait_do_not_interrupt_workers(given, used):
    before = f"os.sched_setscheduler(0, os.{given}, os.sched_param(0))"
    assert policy_with(before) == getattr(os, used)
