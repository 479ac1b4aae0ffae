"""Defects planted in whole programs are found, in the dispatch that has them; what only rounds is not."""

from dataclasses import replace

import pytest
from amounts import ALL, some
from planted_in_programs import FULL, HALF, LONG, MODELS, PLANTED, SHORT

from iree_tuner.check.parts import LoadedParts, Pieces, judge_here
from iree_tuner.check.trace import follow_here
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.program_request import request
from iree_tuner.program.extract import extract
from iree_tuner.program.parts import take_apart_flow
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.faults import sums_of

DEVICE = "local-task"
LEGAL = {
    "sse": ("--iree-llvmcpu-target-cpu=x86-64", "--iree-llvmcpu-target-cpu-features="),
    "avx2": ("--iree-llvmcpu-target-cpu=haswell",),
    "in order": ("--iree-llvmcpu-reassociate-fp-reductions=false",),
    "unrolled": ("--iree-llvmcpu-loop-unrolling=true", "--iree-llvmcpu-loop-vectorization=true"),
}


class Model:
    """A program at phase `flow`, and in parts."""

    def __init__(self, name, folder, compilers):
        self.program = load_program(MODELS / f"{name}.mlir")
        self.target = target_for_device(DEVICE, "host")
        self.run = request(self.program)
        self.sums = sums_of(extract(self.program, self.target, compilers).dispatches)
        self.folder = folder
        self.text = self._flow(self.target)
        self.base = self.apart(self.text)

    def _flow(self, target):
        session = session_for(target.flags)
        module = session.parse(self.program.data, self.program.name)
        session.run(module, stop="flow")
        return str(module)

    def apart(self, text, only=None, flags=()):
        """Pieces of the program's text at phase `flow`."""
        session = session_for((*self.target.flags, *flags))
        parts = take_apart_flow(session.parse(text), session, self.program.name, only=only)
        path = self.folder / f"{len(list(self.folder.iterdir()))}.vmfb"
        path.write_bytes(parts.vmfb)
        return Pieces(str(path), replace(parts, vmfb=b""))

    def elsewhere(self, flags):
        """Pieces of the program as other flags make it."""
        target = replace(self.target, flags=(*self.target.flags, *flags))
        return self.apart(self._flow(target), flags=flags)

    def judge(self, other):
        """What is found in a version."""
        return judge_here(self.base, other, DEVICE, self.run, self.sums)

    def follow(self, other):
        """Who is to blame in a version, whatever its dispatches are."""
        return follow_here(self.base, other, DEVICE, self.run, self.sums, 100.0)


@pytest.fixture(scope="module")
def model_of(tmp_path_factory, compilers):
    known = {}

    def find(name):
        if name not in known:
            known[name] = Model(name, tmp_path_factory.mktemp(name), compilers)
        return known[name]

    return find


USUAL = [each for each in PLANTED if ALL or (each.model == SHORT and "not zeroed" in each.what)]
"""By default what also depends on memory that nobody wrote, in the program that is compiled soonest."""


@pytest.mark.parametrize("planted", USUAL, ids=str)
def test_a_defect_is_found_where_it_is(planted, model_of):
    model = model_of(planted.model)
    text, export = planted.put_into(model.text)
    version = model.apart(text)
    judged = model.judge(version)
    assert judged.faults, f"nothing was found in {judged.compared}"
    assert {fault.dispatch for fault in judged.faults} == {export}
    assert not judged.own
    assert not judged.overflown
    assert {fault.dispatch for fault in model.follow(version)} == {export}


def test_a_race_is_found_in_the_dispatch_that_has_it(model_of, monkeypatch):
    """One result of a dispatch is what another thread left there, now and then."""
    model = model_of(SHORT)
    racing = next(part for part in model.base.parts.parts if "matmul_40x48x96" in part.dispatch)
    call, runs = LoadedParts.call, []

    def race(self, part, read, byte):
        found = call(self, part, read, byte)
        if part == racing and self.version:
            runs.append(byte)
            if len(runs) % 2 == 0:
                found[0][7] = found[0][6]
        return found

    built = LoadedParts.__init__

    def build(self, pieces, device, run, uploads=None):
        built(self, pieces, device, run, uploads)
        self.version = pieces is version

    version = replace(model.base)
    monkeypatch.setattr(LoadedParts, "call", race)
    monkeypatch.setattr(LoadedParts, "__init__", build)
    judged = model.judge(version)
    assert [fault.dispatch for fault in judged.faults] == [racing.dispatch]
    assert judged.faults[0].fault == "wrong"
    assert "in some of its runs: at [7, " in judged.faults[0].message


@pytest.mark.parametrize("name", some([SHORT, HALF, FULL, LONG], 4))
@pytest.mark.parametrize("legal", some(LEGAL, 4))
def test_what_rounds_differently_is_not(legal, name, model_of):
    model = model_of(name)
    version = model.elsewhere(LEGAL[legal])
    judged = model.judge(version)
    assert len(judged.compared) == len(model.base.parts.parts)
    assert not judged.faults
    assert not model.follow(version)


@pytest.mark.parametrize("name", some([SHORT, HALF, FULL, LONG], 4))
def test_dispatches_that_flags_fuse_otherwise_are_not_to_blame(name, model_of):
    model = model_of(name)
    version = model.elsewhere(("--iree-opt-level=O3", "--iree-opt-data-tiling=false"))
    assert version.parts.values != model.base.parts.values
    assert not model.follow(version)


@pytest.mark.exhaustive  # as are the others with this program, which is the largest
def test_the_programs_are_whole(model_of):
    model = model_of(LONG)
    assert model.base.parts.whole
    assert len(model.base.parts.parts) >= 48
