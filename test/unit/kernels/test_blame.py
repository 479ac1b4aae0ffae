"""One wrong kernel is named, and does not cost the others."""

import pytest
from contests import code_of
from test_layers_of_kernels import CHAIN
from wrong_kernels import Transposed, WrongGrid

from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.source import Kernels, changes_of, mended_with, outlook_of
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.tuning.faults import blame
from iree_tuner.tuning.flags import option
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.versions import ProgramVersion, ProgramVersions

pytestmark = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())

FIRST, SECOND = "kernel_matmul_24x64x40_f32_f32_f32", "kernel_matmul_24x64x64_f32_f32_f32"


@pytest.mark.parametrize(
    ("kernels", "blamed"),
    [
        ((CGemm(), WrongGrid()), SECOND),
        pytest.param((Transposed(), CGemm()), FIRST, marks=pytest.mark.exhaustive),
    ],
)
def test_who_is_wrong_is_named_and_the_others_stay(kernels, blamed, lab, tmp_path):
    program = load_program(CHAIN)
    outlook = outlook_of(find_places(program, lab.target, lab.compilers, [CGemm()]), [CGemm()])
    chosen = [
        (site, code_of(kernel, site, lab.target))
        for (_, site, _), kernel in zip(outlook.pairs, kernels, strict=True)
    ]
    version = ProgramVersion("with kernels", lab.target, changes=changes_of(chosen))
    dispatches, run = extract(program, lab.target, lab.compilers).dispatches, request(program)
    versions = ProgramVersions(
        program, run, lab, Silent(), ErrorDepth(), sources=[Kernels()], folder=tmp_path
    )
    found = blame(version, lab.target, versions, program, run, dispatches, lab, 10.0)
    assert [each.dispatch for each in found.findings] == [blamed]
    mended = mended_with(version, [version], {blamed})
    wrong, unwritten = "computes wrong results: at [", "reads uninitialized memory: its results depend"
    said = found.note.removeprefix(f"with kernels: {blamed} ")
    # Both are true of elements that nothing writes; what is said depends on what the memory had.
    assert said.startswith((wrong, unwritten) if blamed == SECOND else wrong)
    right = [each for each, kernel in zip(chosen, kernels, strict=True) if type(kernel) is CGemm]
    assert mended.changes == changes_of(right)
    again = blame(mended, lab.target, versions, program, run, dispatches, lab, 10.0)
    assert not again.findings
    assert again.note.endswith(": each of its dispatches is correct alone")
    assert mended_with(mended, [version, mended], set()) is None


def test_kernels_that_fail_under_some_flags_keep_their_places_with_the_given_ones(lab):
    outlook = outlook_of(find_places(load_program(CHAIN), lab.target, lab.compilers, [CGemm()]), [CGemm()])
    chosen = [(site, code_of(kernel, site, lab.target)) for _, site, kernel in outlook.pairs]
    changes = (option(lab.target, "O3"), *changes_of(chosen))
    version = ProgramVersion("O3 with kernels", lab.target, ("an entry for O3",), changes)
    mended = mended_with(version, [version], None)
    assert mended == ProgramVersion("", lab.target, (), changes[1:])
    assert mended.what == "O3 with kernels, with the given flags"
    assert mended_with(version, [version, mended], None) is None, "nothing else is left to try"


def test_what_cannot_be_taken_apart_says_why(lab):
    program = load_program(
        "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }"
    )
    run = request(program)
    versions = ProgramVersions(program, run, lab, Silent(), ErrorDepth())
    found = blame(ProgramVersion("it", lab.target), lab.target, versions, program, run, (), lab, 1.0)
    assert found.note.startswith("it: its dispatches were not compared: ")
