"""Compilations of whole programs, several at once: right ones, and planted ones that are wrong or die."""

from collections import OrderedDict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import faulty_programs
import numpy as np
import pytest
from once import each_once  # noqa: F401 (a fixture)
from runtime_workers import count_workers
from whole_programs import WITH_PARAMETERS, scaling

from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure import program as programs
from iree_tuner.measure import program_worker
from iree_tuner.measure.program import ProgramComparison, compare_programs, time_program
from iree_tuner.program.phases import compile_program, submit_widened
from iree_tuner.program.source import load_program
from iree_tuner.targets.kind import RuntimeFlag

DEVICE = "local-task"
SHORT_S = 0.0005
ACCUMULATING = """
func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>, %c: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x16xf32>) outs(%c : tensor<64x16xf32>)
      -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}
"""

HALF = """
func.func @main(%a: tensor<48x80xf16>) -> tensor<48x80xf16> {
  %factor = arith.constant dense<1.7> : tensor<48x80xf16>
  %product = arith.mulf %a, %factor : tensor<48x80xf16>
  %r = math.sin %product : tensor<48x80xf16>
  return %r : tensor<48x80xf16>
}
"""


@pytest.fixture(scope="module")
def built(cpu, compilers):
    @cache
    def build(text):
        return compile_program(load_program(text), cpu, compilers).data

    return build


@pytest.fixture(scope="module")
def measuring():
    with Workers(1) as workers:
        yield workers


def compare(placed, measuring, rounds=8, **more):
    return compare_programs(placed, DEVICE, measuring, rounds, ErrorDepth(), batch_s=SHORT_S, **more)


@pytest.fixture(scope="module")
def right(built):
    return built(scaling())


def test_each_is_compared_with_the_default(right, built, measuring):
    same = built(scaling("2.0").replace("@program", "@other"))
    found = compare([[right, same, right], [right, same, right]], measuring)
    assert [each.error for each in found] == ["", ""]
    assert all(each.ok and each.agreement.worst == 0 for each in found)
    assert [each.comparison.pairs for each in found] == [8, 8]
    assert [len(each.comparison.by_group) for each in found] == [2, 2]  # one for each place
    assert {each.function for each in found} == {"main"}


def test_without_rounds_results_are_only_checked(right, built, measuring):
    found = compare([[right, right, built(scaling("2.5"))]], measuring, rounds=0)
    assert [each.ok for each in found] == [True, False]
    assert [each.comparison for each in found] == [None, None]
    assert found[0].check_s > 0.0


def test_a_version_is_checked_at_each_place(right, built, measuring):
    """Its code is the same at the others, so that one seed is enough there."""
    wrong = built(scaling("2.5"))
    good, bad = compare([[right, right, right], [right, right, wrong]], measuring)
    assert good.ok
    assert "wrong results: seed 0" in bad.error


def test_more_than_can_take_turns_are_split(right, measuring):
    found = compare([[right] * 9], measuring)
    assert [each.ok for each in found] == [True] * 8
    assert len({each.comparison.default_us for each in found}) == 2  # of two groups


def test_a_rival_takes_turns_with_all_others(right, built, measuring):
    """Also if they are too many to take turns at once."""
    found = compare([[right] * 9], measuring, rival=3)
    assert [each.over_rival is None for each in found] == [index == 3 for index in range(8)]
    assert all(each.over_rival.pairs == 8 for each in found if each.over_rival)
    wrong = built(scaling("2.5"))
    first, rival = compare([[right, right, wrong]], measuring, rival=1)
    assert (first.ok, rival.ok, first.over_rival) == (True, False, None)


def test_the_processors_results_decide_where_the_default_is_wrong(right, built, measuring):
    wrong = built(scaling("2.5"))
    asked = []

    def for_host():
        asked.append(True)
        return right

    first, second = compare([[wrong, right, right]] * 2, measuring, for_host=for_host)
    assert asked == [True]  # once, for all versions and places
    for each in (first, second):
        assert each.ok
        assert each.comparison is not None
        assert each.agreement.note.startswith("by default, the program computes wrong results: seed 0")


@pytest.mark.parametrize("factor", ["1.7", "2.5"], ids=["widened", "widened is wrong, too"])
def test_f16_results_that_the_processor_confirms(factor, cpu, built, compilers, measuring):
    """The widened program shows how far its results may be from the version's; or nudged inputs do."""
    made = submit_widened(load_program(HALF.replace("1.7", factor)), cpu, compilers).result()
    right, wrong = built(HALF), built(HALF.replace("1.7", "2.5"))
    (found,) = compare([[wrong, right]], measuring, for_host=lambda: right, widened=lambda: made)
    assert found.ok
    assert found.agreement.note.startswith("by default, the program computes wrong results: seed 0")


def test_what_the_processor_takes_once_is_no_part_of_each_check(right, built, measuring, monkeypatch):
    """Later versions are predicted from the time of a check, and need no other program for the processor."""
    clock = iter(range(1000))  # a second for each look at it
    monkeypatch.setattr(programs, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))

    def for_host():
        for _ in range(100):
            next(clock)
        return right

    first, second = compare([[built(scaling("2.5")), right, right]], measuring, for_host=for_host)
    assert (first.check_s, second.check_s) == (1.0, 1.0)
    assert next(clock) > 100


@pytest.mark.parametrize(
    "host",
    [
        scaling(),
        scaling("3.0"),
        scaling(crash=1),
        None,
        pytest.param(scaling(fail=1), marks=pytest.mark.exhaustive),
    ],
    ids=["as the default", "as neither", "crash", "none", "fails"],
)
def test_nobody_is_right_but_by_the_processors_results(host, right, built, measuring):
    made = built(host) if host else b""
    (found,) = compare([[right, built(scaling("2.5"))]], measuring, for_host=lambda: made)
    assert found.error.startswith("wrong results: seed 0, result 0: at [")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (scaling("2.01"), "wrong results: seed 0, result 0: at ["),
        (scaling(crash=2), "the worker exited with -11"),
        (scaling(crash=12), "the worker exited with -11"),  # in the rounds, not while results are compared
        (scaling(fail=1), "planted"),
        (scaling(fail=12), "planted"),
        (scaling().replace("<64x", "<32x"), "shapes differ"),
        (scaling().replace("@main", "@men"), "the program has no entry function 'main' (one of: men)"),
    ],
    ids=["wrong", "crash", "late crash", "fails", "fails late", "other shapes", "other name"],
)
def test_what_fails_leaves_the_others_alone(fault, says, right, built, measuring):
    run = request(load_program(scaling()), ["main"])
    first, bad, last = compare([[right, right, built(fault), right]], measuring, rounds=24, run=run)
    assert not bad.ok
    assert bad.comparison is None
    assert says in bad.error
    assert "\n" not in bad.error
    for each in (first, last):
        assert each.ok
        assert each.comparison.pairs == 24


def test_what_does_not_load_is_told(right, measuring):
    (found,) = compare([[right, right[: len(right) // 2]]], measuring)
    assert found.error.startswith("the program does not load: ")


@pytest.mark.parametrize("fault", [{"fail": 1}, {"fail": 12}])
def test_a_default_that_fails_is_an_error(fault, right, built, measuring):
    with pytest.raises(TunerError, match="planted"):
        compare([[built(scaling(**fault)), right]], measuring)


@pytest.mark.parametrize("crash", [1, 12])
def test_a_default_that_dies_is_an_error(crash, right, built, measuring):
    with pytest.raises(WorkerError, match="exited with -11"):
        compare([[built(scaling(crash=crash)), right]], measuring)


def test_programs_with_state_begin_anew_for_each_comparison(built, measuring):
    """The sum of all inputs so far: wrong where one of them had more invocations than the other."""
    vmfb = built(WITH_PARAMETERS)
    run = request(load_program(WITH_PARAMETERS))
    found = compare([[vmfb] * 4, [vmfb] * 4], measuring, run=run)
    assert [each.error for each in found] == ["", "", ""]
    assert found[0].function == "main, accumulate"  # nothing says the sizes of @open


def test_flags_of_the_runtime_are_compared(right, measuring):
    """Each opens a device of its own; one that the runtime does not know leaves the others alone."""
    one_worker = RuntimeFlag("--task_topology_max_group_count=1", "--task_topology_max_group_count=64")
    unknown = RuntimeFlag("--no_such_flag=1", "--no_such_flag=0")
    runtimes = [(), (one_worker,), (unknown,), ()]
    few, bad, same = compare([[right] * 4], measuring, runtimes=runtimes)
    assert few.ok
    assert few.comparison.pairs == same.comparison.pairs == 8
    assert "the device does not open: " in bad.error


def test_a_flag_of_the_runtime_is_for_one_device():
    """In a process of its own, as flags and devices are the process's."""
    flag = RuntimeFlag("--task_topology_group_count=3", "--task_topology_group_count=0")
    with Workers(1) as workers:
        assert workers.call(count_workers, DEVICE, (flag,)) == 3
        cores = workers.call(count_workers, DEVICE, ())
        assert workers.call(count_workers, DEVICE, (flag,)) == 0  # it is open
    with Workers(1) as workers:
        assert workers.call(count_workers, DEVICE, ()) == cores


def test_one_alone_is_timed(built, measuring):
    vmfb = built(WITH_PARAMETERS)
    run = request(load_program(WITH_PARAMETERS))
    samples = time_program(vmfb, DEVICE, measuring, run, 3, SHORT_S)
    assert len(samples) == 3
    assert min(samples) > 0


@pytest.fixture
def faulty(monkeypatch):
    monkeypatch.setattr(programs, "load_here", faulty_programs.load)
    monkeypatch.setattr(programs, "default_here", faulty_programs.default)
    monkeypatch.setattr(programs, "same_here", faulty_programs.agree)
    monkeypatch.setattr(programs, "rounds_here", faulty_programs.rounds)


@pytest.mark.usefixtures("faulty")
def test_one_that_makes_the_default_die_is_found(measuring):
    first, bad, last = compare([[b"default", b"first", b"poison", b"last"]], measuring)
    assert bad.error.startswith("the default fails after it: the worker exited with -6")
    assert bad.comparison is None
    assert first.comparison.speedup == last.comparison.speedup == pytest.approx(0.5)


@pytest.mark.usefixtures("faulty")
def test_a_default_that_dies_of_itself_is_not_blamed_on_others(measuring):
    with pytest.raises(WorkerError):
        compare([[b"dead", b"first", b"last"]], measuring)


@pytest.mark.usefixtures("faulty")
def test_versions_that_do_not_fit_in_memory_together_are_compared_one_by_one(measuring):
    found = compare([[b"default", b"large one", b"small", b"large other"]], measuring)
    assert [each.error for each in found] == [""] * 3
    assert all(each.comparison is not None for each in found)


def test_where_memory_is_short_what_does_not_take_turns_is_let_go(tmp_path, monkeypatch):
    loaded = []

    class Large:
        def __init__(self, path, *_, **__):
            if len(loaded) == 2:
                raise RuntimeError("RESOURCE_EXHAUSTED; libc allocator failed the request")
            self.path = path
            loaded.append(path)

        def __del__(self):
            if hasattr(self, "path"):
                loaded.remove(self.path)

    monkeypatch.setattr(program_worker, "LoadedProgram", Large)
    monkeypatch.setattr(program_worker, "_loaded", OrderedDict())
    paths = [str(tmp_path / name) for name in ("default", "one", "other")]
    for each in paths:
        Path(each).write_bytes(b"program")
    for other in paths[1:]:
        table = program_worker.Table((paths[0], other), DEVICE, ProgramRun(), str(tmp_path / "marker"))
        assert program_worker.load_here(table, 0) is None
        assert program_worker.load_here(table, 1) is None
    assert loaded == [paths[0], paths[2]]


def test_who_never_comes_near_the_default_takes_no_more_turns(monkeypatch):
    bench = programs.ProgramBench.__new__(programs.ProgramBench)
    monkeypatch.setattr(
        bench, "rounds", lambda paths, count, start: [[10.0, 11.0, 40.0]] * count, raising=False
    )
    blank = ProgramComparison("main", None, Agreement(True, 0.0))
    found = {0: blank, 1: blank}
    bench.screen(["default", "near", "far"], [0, 1], found)
    assert found[0].comparison is None, "it is compared in earnest"
    assert found[1].comparison.verdict == "lose"
    assert found[1].comparison.pairs < 8


@pytest.mark.parametrize("device", [DEVICE, "gpu://0"])
def test_who_writes_to_its_inputs_spoils_them_for_nobody(device, built, tmp_path):
    """docs/upstream/input_written.md: sums that begin with an argument are made in its place."""
    path = tmp_path / "accumulating.vmfb"
    path.write_bytes(built(ACCUMULATING))
    run = request(load_program(ACCUMULATING))
    first, second = (LoadedProgram(str(path), DEVICE, run) for _ in range(2))
    for each in (first, second):
        each._uri = device  # as if it had memory of its own
    before = first.results_of(0)[0].copy()
    first.batch(1)
    assert not np.array_equal(first._outputs(0)[0], before), "the compiler does not write to inputs any more"
    assert np.array_equal(second.results_of(0)[0], before)
    assert np.array_equal(first.results_of(0)[0], before)
