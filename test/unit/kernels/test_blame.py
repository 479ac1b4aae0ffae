"""One wrong kernel is named, and does not cost the others."""

import pytest
from amounts import some
from test_layers_of_kernels import CHAIN
from wrong_kernels import Transposed, WrongGrid

from iree_tuner.device.program_request import request
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.in_program import look_at
from iree_tuner.kernels.source import mended_with, without_kernels
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import with_flags
from iree_tuner.tuning.faults import blame
from iree_tuner.tuning.versions import ProgramVersion

pytestmark = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())

FIRST, SECOND = "kernel_matmul_24x64x40_f32_f32_f32", "kernel_matmul_24x64x64_f32_f32_f32"


@pytest.mark.parametrize(
    ("kernels", "blamed"),
    some(
        [((CGemm(), WrongGrid()), [SECOND]), ((Transposed(), CGemm()), [FIRST]), ((CGemm(), CGemm()), [])], 2
    ),
)
def test_who_is_wrong_is_named_and_the_others_stay(kernels, blamed, lab, tmp_path):
    program = load_program(CHAIN)
    outlook = look_at(program, lab.target, [CGemm()], lab)
    chosen = [
        (site, kernel.make(site.problem, lab.target, kernel.variants(site.problem, lab.target)[0]))
        for (_, site, _), kernel in zip(outlook.pairs, kernels, strict=True)
    ]
    path = tmp_path / "kernels.mlir"
    save_kernel_spec(chosen, outlook.target, lab.context, path)
    version = ProgramVersion("with kernels", with_flags(lab.target, (f"{SPEC_FLAG}={path}",)))
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    found = blame(version, lab.target, program, request(program), dispatches, lab, 10.0)
    assert [each.dispatch for each in found.findings] == blamed
    names = {each.dispatch for each in found.findings}
    left = mended_with(version, {version: chosen}, names, lab, tmp_path)
    if not blamed:
        assert found.note == "with kernels: each of its dispatches is correct alone"
        assert left == {}
        return
    assert found.note.startswith(f"with kernels: {blamed[0]} computes wrong results: at [")
    ((mended, right),) = left.items()
    assert right == [each for each, kernel in zip(chosen, kernels, strict=True) if type(kernel) is CGemm]
    assert mended.target.flags[:-1] == lab.target.flags
    again = blame(mended, lab.target, program, request(program), dispatches, lab, 10.0)
    assert not again.findings


def test_kernels_that_fail_under_some_flags_keep_their_places_with_the_given_ones(lab, tmp_path):
    outlook = look_at(load_program(CHAIN), lab.target, [CGemm()], lab)
    chosen = [
        (site, kernel.make(site.problem, lab.target, kernel.variants(site.problem, lab.target)[0]))
        for _, site, kernel in outlook.pairs
    ]
    flagged = with_flags(lab.target, ("--iree-opt-level=O3", f"{SPEC_FLAG}=kernels.mlir"))
    version = ProgramVersion("O3 with kernels", flagged, entries=("an entry for O3",))
    ((mended, kept),) = mended_with(version, {version: chosen}, None, lab, tmp_path).items()
    assert kept == chosen
    assert mended.entries == ()
    assert without_kernels(mended.target) == lab.target
    assert mended.what == "O3 with kernels, with the given flags"
    known = {version: chosen, mended: kept}
    assert mended_with(version, known, None, lab, tmp_path) == {}, "nothing else is left to try"


def test_what_cannot_be_taken_apart_says_why(lab):
    program = load_program(
        "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }"
    )
    found = blame(ProgramVersion("it", lab.target), lab.target, program, request(program), (), lab, 1.0)
    assert found.note.startswith("it: its dispatches were not compared: ")
