"""Planted defects: each wrong kernel is caught, by the check alone and by a measurer; the right ones pass."""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from amounts import ALL
from planted import DEFECTS, DEVICE, bench_of, check_here, without_reference, wrong

from iree_tuner.check.check_program import compile_check
from iree_tuner.measure.measurer import Measurer

ALIKE = {
    ("matmul", "lost_block"), ("matmul", "lost_product"), ("matmul", "wrong_tile_bound"),
    ("quantized", "wrong_sign"), ("square", "swapped_operands"), ("square", "transposed_tile"),
}  # fmt: skip
"""Some numbers are wrong, or are none, as with others that stay: only with `--all`."""

EVERY = sorted((path.parent.name, path.stem) for path in DEFECTS.glob("*/*.mlir") if path.stem != "right")
WRONG = [each for each in EVERY if ALL or each not in ALIKE]
FOLDERS = sorted({folder for folder, _ in WRONG})

SAYS = {
    "wrong_tile_bound": "at [40, 0]: got nan",
    "never_zeroed": "got nan",
    "read_beyond_input": "got nan",
    "off_by_one_edge": "45 of 1665 differ",
    "transposed_tile": "of 4096 differ",
    "out_of_bounds": "written out of bounds: 148 bytes from byte 48644, 0 bytes after the end of tensor 2",
    "input_changed": "input 0 was changed, 180 bytes, first at [0, 127]",
    "stale_output": ", right at first, on run 2: tensor 2",
    "half_overflow": "got inf",
}
"""What the message has in it, beside a tensor and a position, where it says more than that."""


@pytest.fixture(scope="module")
def benches(cpu, compilers):
    return cache(lambda folder: bench_of(folder, cpu, compilers))


@pytest.fixture(scope="module")
def executables(benches, cpu, compilers):
    """Of each defect, as it is asked for."""

    @cache
    def find(folder, name):
        return wrong(benches(folder), folder, name, cpu, compilers)

    return find


_ATTEMPTS = 10
"""A race may go well, on a quiet machine several times in a row."""


def checked(compilers, executable, bench, name):
    """Both checks; of a race, those of the first time that it goes wrong."""
    for _ in range(_ATTEMPTS if name == "race" else 1):
        found = compilers.call(check_here, executable, bench)
        if not found[1].ok:
            break
    return found


def test_there_are_enough_of_them():
    assert len(EVERY) >= 16
    assert {*EVERY} > ALIKE


@pytest.fixture(scope="module")
def with_programs(benches, cpu, compilers):
    """The benches with programs that compare where results are, as on GPUs."""

    @cache
    def find(folder):
        bench = benches(folder)
        return replace(bench, check=compilers.call(compile_check, bench.harness, cpu))

    return find


@pytest.fixture
def judged(request, benches, with_programs):
    return benches if request.param == "by the host" else with_programs


ON_DEVICE = ["accumulating", "quantized"] if not ALL else FOLDERS
"""Each has a program of its own, which compares."""


def by_both(cases):
    """Of a folder, or of a folder and a name."""
    on_device = [each for each in cases if each in ON_DEVICE or each[0] in ON_DEVICE]
    return [*product(["by the host"], cases), *product(["by the device"], on_device)]


@pytest.mark.parametrize(("judged", "folder"), by_both(FOLDERS), indirect=["judged"])
def test_the_right_kernel_passes(judged, compilers, folder):
    quick, thorough = compilers.call(check_here, judged(folder).default, judged(folder))
    assert quick.ok
    assert quick.worst == 0.0
    assert thorough.ok
    assert thorough.note == ""  # there was a reference, and it agreed


@pytest.mark.parametrize(
    ("judged", "planted"),
    by_both(WRONG),
    indirect=["judged"],
    ids=str,
)
def test_the_wrong_one_does_not(judged, executables, compilers, planted):
    folder, name = planted
    quick, thorough = checked(compilers, executables(folder, name), judged(folder), name)
    assert not thorough.ok
    assert thorough.worst > 1
    assert SAYS.get(name, "differ") in thorough.message
    assert "\n" not in thorough.message
    if name != "race":  # which may go well once
        assert thorough.message.startswith("seed 0")
        assert not quick.ok
        assert quick.message.startswith("seed 1")


@pytest.mark.parametrize(("folder", "name"), WRONG)
def test_the_default_is_enough_to_tell(benches, executables, compilers, folder, name):
    bench = without_reference(benches(folder))
    _, thorough = checked(compilers, executables(folder, name), bench, name)
    assert not thorough.ok
    assert "reference" not in thorough.message


@pytest.fixture(scope="module")
def measurer():
    found = Measurer(DEVICE)
    yield found
    found.close()


@pytest.mark.parametrize(("folder", "name"), WRONG)
def test_a_measurer_calls_it_a_wrong_result(benches, executables, measurer, folder, name):
    bench = benches(folder)
    attempts = _ATTEMPTS if name == "race" else 1
    assert not all(measurer.agrees(executables(folder, name), bench).ok for _ in range(attempts))
    if name != "race":  # which may go well once
        timed = measurer.time(executables(folder, name), bench)
        assert timed.outcome == "wrong_result"
        assert timed.message.startswith("seed 1")
        assert timed.worst is not None
        assert timed.worst > 1


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_measurer_times_the_right_kernel(benches, measurer, folder):
    assert measurer.agrees(benches(folder).default, benches(folder)).ok
    assert measurer.time(benches(folder).default, benches(folder)).outcome == "ok"
