"""Programs in parts, compared with themselves as other flags make them, and with the whole program."""

import re
from dataclasses import replace
from functools import cache, cached_property

import numpy as np

from iree_tuner.check.parts import LoadedParts, Pieces, judge_here, runs
from iree_tuner.check.trace import follow_here
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.numerics import FILLINGS, Held
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.program.dynamic import sized
from iree_tuner.program.parts import take_apart_flow
from iree_tuner.program.phases import run_phases, select_target
from iree_tuner.program.source import Program
from iree_tuner.targets import target_for_device, with_flags
from iree_tuner.tuning.faults import functions_run

DEVICE = "local-task"
OTHERWISE = ("--iree-llvmcpu-reassociate-fp-reductions=false",)


class Apart:
    """A program at phase `flow`, and in parts; each of its versions is compiled once."""

    def __init__(self, text, folder, dims=(), flags=(), functions=()):
        self.program = sized(Program("program.mlir", text.encode()), dims)
        self.target = with_flags(target_for_device(DEVICE, "host"), flags)
        self.run = request(self.program, functions)
        self.folder = folder

    @cached_property
    def text(self):
        """The program's text at phase `flow`."""
        session = session_for(self.target.flags)
        module = session.parse(self.program.data, self.program.name)
        select_target(module, self.target)
        session.run(module, stop="flow")
        return str(module)

    @cached_property
    def base(self):
        """Its pieces."""
        return self.pieces(self.text)

    def pieces(self, text, only=None, flags=()):
        """Pieces of the program's text at phase `flow`."""
        session = session_for((*self.target.flags, *flags))
        parts = take_apart_flow(
            session.parse(text), session, self.program.name, functions_run(self.run), only
        )
        path = self.folder / f"{len(list(self.folder.iterdir()))}.vmfb"
        path.write_bytes(parts.vmfb)
        return Pieces(str(path), replace(parts, vmfb=b""))

    @property
    def dispatches(self):
        """Names of the dispatches that can be called, each once."""
        return sorted({each.dispatch for each in self.base.parts.parts if each.dispatch})

    @property
    def exports(self):
        """Names of all dispatches of the program."""
        return set(re.findall(r"flow\.dispatch @[\w$]+::@([\w$]+)", self.text))

    def otherwise(self):
        """The dispatches of the program as other flags make it."""
        return self.pieces(self.text, frozenset(self.dispatches), OTHERWISE)

    def with_defect(self, right, wrong):
        """The program's text with another op in its dispatches."""
        assert self.text.count(right) >= 1, self.text
        return self.text.replace(right, wrong)

    def judge(self, other):
        return judge_here(self.base, other, DEVICE, self.run, {})

    def follow(self, other):
        return follow_here(self.base, other, DEVICE, self.run, {}, 100.0)

    def results(self, seed):
        """The program's results, of its parts."""
        loaded = LoadedParts(self.base, DEVICE, self.run)
        values = {number: Held(each) for number, each in loaded.inputs(seed).items()}
        for part in loaded.parts.parts:
            if runs(part, values):
                made = loaded.values(part, [values[number] for number in part.reads], FILLINGS[0])
                values |= dict(zip(part.writes, map(Held, made), strict=True))
        last = loaded.parts.results
        return loaded.call(last, [values[number] for number in last.reads], FILLINGS[0])

    @cache  # noqa: B019 (tests keep it for as long as they use it)
    def compiled(self, right="", wrong=""):
        """The program as a whole, as it is compared; with another op, if there is a wrong one."""
        data = self.program.data.replace(right.encode(), wrong.encode()) if wrong else self.program.data
        name = self.program.name
        return run_phases(data, name, self.target, stop=None, output="vmfb", filled=True).data

    def whole(self):
        """The program, loaded as it is."""
        path = self.folder / "whole.vmfb"
        path.write_bytes(self.compiled())
        return LoadedProgram(str(path), DEVICE, self.run)


def same(ours, theirs):
    """Whether results are the same except for rounding."""
    assert [each.shape for each in ours] == [each.shape for each in theirs]
    return all(
        np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True) for a, b in zip(ours, theirs, strict=True)
    )
