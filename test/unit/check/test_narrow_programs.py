"""Programs in f16 and bf16 of 1, 4 and 12 layers: defects in one layer are found, other roundings are not."""

from dataclasses import replace
from functools import cached_property
from itertools import product

import pytest
from amounts import ALL, some
from narrow_programs import DEFECTS, DEPTHS, PLANTED, TYPES, narrow_program
from test_planted_in_programs import DEVICE, LEGAL

from iree_tuner.check.parts import Pieces, judge_here
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth, agreement_of
from iree_tuner.program.extract import extract
from iree_tuner.program.flow_ops import add_filled
from iree_tuner.program.parts import take_apart_flow
from iree_tuner.program.phases import compile_widened, run_phases
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.faults import sums_of

WAYS = {**LEGAL, "O3": ("--iree-opt-level=O3",), "packed": ("--iree-opt-data-tiling=true",)}


class Narrow:
    """A program, how far right versions of it may be apart, and its versions."""

    def __init__(self, kind, layers, element_type, folder, compilers):
        self.program = load_program(narrow_program(kind, layers, element_type))
        self.target = target_for_device(DEVICE, "host")
        self.run = request(self.program)
        self.folder = folder
        session = session_for(self.target.flags)
        module = session.parse(self.program.data)
        session.run(module, stop="flow")
        self.text = str(module)
        self.base = self.whole(self.text)
        data = compile_widened(self.program.data, "t", self.target)
        widened = LoadedProgram(self._write(data), DEVICE, self.run, like=self.base)
        dispatches = extract(self.program, self.target, compilers).dispatches
        self.sums = sums_of(dispatches)
        moves = judge_here(self.parts, None, DEVICE, self.run, self.sums, narrow=False).moves
        self.spreads = self.base.spreads(ErrorDepth(160, len(dispatches), moves), widened)

    def _write(self, data):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.vmfb"
        path.write_bytes(data)
        return str(path)

    def whole(self, text):
        session = session_for(self.target.flags)
        module = session.parse(text)
        session.run(module, start="flow", stop="stream")
        add_filled(module)
        return LoadedProgram(self._write(session.to_vmfb(module, start="stream")), DEVICE, self.run)

    def elsewhere(self, flags):
        target = replace(self.target, flags=(*self.target.flags, *flags))
        data = run_phases(self.program.data, "t", target, stop=None, output="vmfb", filled=True).data
        return LoadedProgram(self._write(data), DEVICE, self.run)

    def apart(self, text):
        session = session_for(self.target.flags)
        parts = take_apart_flow(session.parse(text), session, "t")
        path = self._write(parts.vmfb)
        named = tuple(replace(each, dispatch=each.dispatch.removeprefix(PLANTED)) for each in parts.parts)
        return Pieces(path, replace(parts, vmfb=b"", parts=named))

    @cached_property
    def parts(self):
        return self.apart(self.text)

    def agreement(self, version):
        return agreement_of(version.results(), self.base.results(), self.spreads)

    def finds(self, text):
        """Whether a defect is found: by the comparison of the whole program, or that of its dispatches."""
        version = self.whole(text)
        if not self.agreement(version).ok or version.known.unwritten:
            return True
        return bool(judge_here(self.parts, self.apart(text), DEVICE, self.run, self.sums).faults)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory, compilers):
    known = {}

    def find(*key):
        if key not in known:
            known.clear()  # they are used one after the other
            known[key] = Narrow(*key, tmp_path_factory.mktemp("narrow"), compilers)
        return known[key]

    return find


PROGRAMS = [*product(("gpt", "llama"), DEPTHS, TYPES)]
CHOSEN = [("mlp", 1, "bf16"), *PROGRAMS * ALL]
"""By default the half of a layer that has no attention, which is compiled in a third of the time."""


@pytest.mark.parametrize(("kind", "layers", "element_type"), CHOSEN)
def test_defects_in_one_layer_are_found(kind, layers, element_type, narrow):
    model = narrow(kind, layers, element_type)
    missed = []
    chosen = [each for each in DEFECTS if each.kind == kind]
    for number, defect in enumerate(chosen if ALL else chosen[:1]):
        text, _ = defect.put_into(model.text, (0, layers // 2, layers - 1)[number % 3], layers)
        if not model.finds(text):
            missed.append(str(defect))
    assert not missed


@pytest.mark.parametrize(("kind", "layers", "element_type"), CHOSEN)
def test_what_is_compiled_otherwise_is_right_and_its_comparison_says_so(kind, layers, element_type, narrow):
    model = narrow(kind, layers, element_type)
    for way in some(WAYS, 6):
        found = model.agreement(model.elsewhere(WAYS[way]))
        assert found.ok, f"{way}: {found.message}"
        assert not found.note, f"{way}: {found.note}"
