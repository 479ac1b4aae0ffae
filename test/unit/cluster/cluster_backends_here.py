"""Back ends of tests, which workers of a cluster know."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from iree_tuner.suite.tensors import read_inputs


class Running:
    def __init__(self, found):
        self._found = found

    def run(self, count):
        return count * 1e-4

    def result(self):
        return self._found


@dataclass(frozen=True)
class Hangs:
    """A library that hangs when it is first used; a file says so."""

    marker: str
    name: str = "hangs"
    title: str = "Hangs"

    def missing(self, device):
        return ""

    def version(self):
        return "1"

    def refuses(self, operation, device):
        return ""

    def load(self, job):
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            time.sleep(600)
        return Running(np.matmul(*read_inputs(job.operation, job.inputs)))
