"""Profiles: attribution, sums, JSON, and what is done where there is no HAL profile."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import BATCH_OF_ONE_CONVOLUTION, ZERO_MATMUL

from iree_tuner.device.device_facts import facts_of
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.timing import Timed
from iree_tuner.ops.family import family_of
from iree_tuner.profiling import run as runs
from iree_tuner.profiling.attribution import (
    Spent,
    as_changed,
    floor_us,
    quieter,
    rows_of,
    spent_in,
    work_of,
)
from iree_tuner.profiling.hal_events import BETWEEN, Times
from iree_tuner.profiling.profile import Profile, ProfileRow, to_json
from iree_tuner.profiling.roofline import MemoryLevel, Roofline
from iree_tuner.profiling.run import MeasuredProgram, time_alone
from iree_tuner.program.dispatch import CallCount, Dispatch
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target

ROOFLINE = Roofline("x", (("f32", 1e12),), (MemoryLevel(1e10),), "made up")
NUMBERS = st.floats(0, 1e12, allow_nan=False)
ROWS = st.builds(
    ProfileRow,
    name=st.text(max_size=9),
    kind=st.sampled_from(["dispatch", "transfer", "overhead"]),
    calls=NUMBERS,
    time_us=NUMBERS,
    share=NUMBERS,
    flops=NUMBERS,
    bytes=NUMBERS,
    element_type=st.sampled_from(["f32", ""]),
    attainable_us=NUMBERS,
    workload=st.sampled_from(["", "abc", "def"]),
    workload_name=st.text(max_size=5),
    tunable=st.booleans(),
    note=st.text(max_size=5),
)
PROFILES = st.builds(
    Profile,
    program=st.text(max_size=9),
    target=st.just("llvm-cpu:host"),
    device=st.just("local-task"),
    functions=st.lists(st.text(max_size=5), max_size=3).map(tuple),
    method=st.sampled_from(["hal", "standalone"]),
    whole_us=NUMBERS,
    whole_range_us=st.tuples(NUMBERS, NUMBERS),
    rows=st.lists(ROWS, max_size=5).map(tuple),
    profiled_us=NUMBERS,
    roofline=st.sampled_from([None, ROOFLINE]),
    conditions=st.just((("cores", "2"),)),
    notes=st.lists(st.text(max_size=5), max_size=2).map(tuple),
)


@pytest.fixture(scope="module")
def matmul(only_dispatch):
    return only_dispatch(ZERO_MATMUL)


@given(PROFILES)
def test_json_loses_no_row(profile) -> None:
    found = json.loads(json.dumps(to_json(profile)))
    assert [ProfileRow(**row) for row in found["rows"]] == list(profile.rows)


@given(PROFILES)
def test_rows_and_rest_are_the_whole(profile) -> None:
    assert profile.explained_us + profile.rest_us == pytest.approx(profile.whole_us, abs=1e-2)


@given(PROFILES)
def test_workloads_have_the_time_of_their_dispatches(profile) -> None:
    expected = sum(row.time_us for row in profile.rows if row.workload)
    assert sum(each.time_us for each in profile.by_workload()) == pytest.approx(expected)
    assert len({each.workload for each in profile.by_workload()}) == len(profile.by_workload())


def test_work_of_a_matrix_multiplication(matmul) -> None:
    work = work_of(matmul)
    assert work.flops == 2 * 96 * 64 * 128
    assert work.read_bytes == 4 * (96 * 128 + 128 * 64)
    assert work.written_bytes == 4 * 96 * 64
    assert work.element_type == "f32"
    assert floor_us(matmul, ROOFLINE) == pytest.approx(max(work.flops / 1e6, work.bytes / 1e4))


def test_work_of_a_convolution(only_dispatch) -> None:
    workload = only_dispatch(BATCH_OF_ONE_CONVOLUTION).workload
    assert workload is not None
    assert family_of(workload).flops(workload) == 2 * 14 * 14 * 16 * 3 * 3 * 8


GATHER = """
func.func @gather(%table: tensor<1000x32xf32>, %ids: tensor<4xi32>) -> tensor<4x32xf32> {
  %empty = tensor.empty() : tensor<4x32xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi32>) outs(%empty : tensor<4x32xf32>) {
    ^bb0(%id: i32, %o: f32):
      %row = arith.index_cast %id : i32 to index
      %column = linalg.index 1 : index
      %v = tensor.extract %table[%row, %column] : tensor<1000x32xf32>
      linalg.yield %v : f32
  } -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}
"""


def test_a_gather_does_not_read_the_whole_table(only_dispatch) -> None:
    dispatch = only_dispatch(GATHER)
    assert work_of(dispatch).bytes <= 4 * (4 * 32 + 4 + 4 * 32)


def test_times_go_to_the_dispatches_of_the_same_name(matmul) -> None:
    spent = {
        matmul.name: Spent(300.0, 3.0),
        BETWEEN: Spent(20.0, 2.0),
        "(copy)": Spent(50.0, 1.0),
        "other": Spent(30.0, 1.0),
    }
    rows = rows_of(spent, [replace(matmul, calls=CallCount(3))], 500.0, ROOFLINE)
    assert [row.name for row in rows] == [matmul.name, "(copy)", "other", BETWEEN]
    first, copy, other, between = rows
    assert first.share == pytest.approx(0.6)
    assert first.flops == pytest.approx(3 * work_of(matmul).flops)
    assert first.attainable_us == pytest.approx(3 * floor_us(matmul, ROOFLINE))
    assert first.workload == matmul.workload.key
    assert first.tunable
    assert (copy.kind, between.kind, other.kind) == ("transfer", "overhead", "dispatch")
    assert "no such dispatch" in other.note


def test_dispatches_of_initializers_have_no_row_and_missing_ones_do(matmul) -> None:
    never = replace(matmul, name="initializer", calls=CallCount(0))
    missing = replace(matmul, name="missing")
    (row,) = rows_of({}, [never, missing], 100.0, None)
    assert (row.name, row.time_us, row.note) == ("missing", 0.0, "it did not run")


def test_a_changed_program_has_the_rows_of_what_it_replaces(matmul, only_dispatch) -> None:
    """A kernel stands for the dispatch that it computes, what is left for what it was before."""
    other = only_dispatch(BATCH_OF_ONE_CONVOLUTION)
    before = [
        replace(matmul, name="main_dispatch_0_matmul_f32"),
        replace(matmul, name="main_dispatch_1_matmul_f32"),
        replace(other, name="main_dispatch_2_conv_f32"), replace(other, name="main_dispatch_10_conv_f32"),
        replace(matmul, name="main_dispatch_11_sum"), replace(matmul, name="main_dispatch_12_sum"),
    ]  # fmt: skip
    names = (
        "call_gemm_7a", "main_dispatch_0_matmul_f32", "main_dispatch_3_conv_f32", "main_dispatch_9_conv_f32",
        "call_both_1", "main_dispatch_4_sum", BETWEEN,
    )  # fmt: skip
    replaced = {"gemm_7a": [before[0].name], "both_1": [before[1].name, before[2].name], "no_code": []}
    found = {
        each.name: each.workload.key
        for each in as_changed(dict.fromkeys(names, Spent(1.0, 1.0)), before, replaced)
    }
    assert found == {"call_gemm_7a": matmul.workload.key}, "of one convolution there are two now"
    (left,) = as_changed({names[2]: Spent(1.0, 1.0)}, before, {"both_1": [before[2].name]})
    assert (left.name, left.calls) == (names[2], before[3].calls)


def test_means_of_the_quieter_invocations_count() -> None:
    quiet = [Times({"a": us, "b": 1.0}, {"a": 2, "b": 1}) for us in (7.0, 10.0, 13.0, 10.0)]
    noisy = [Times({"a": 90.0, "b": 9.0}, {"a": 2, "b": 1}) for _ in range(12)]
    assert spent_in([noisy + quiet]) == {"a": Spent(10.0, 2.0), "b": Spent(1.0, 1.0)}


def test_functions_add_up() -> None:
    one = [Times({"a": 1.0}, {"a": 1})]
    assert spent_in([one, one])["a"] == Spent(2.0, 2.0)


@given(st.lists(NUMBERS, min_size=1))
def test_something_is_always_quiet(samples) -> None:
    found = quieter(samples, float)
    assert found
    assert max(found) <= min(set(samples) - set(found), default=max(found))


class FakeBuilder:
    outcome = "ok"

    def submit(self, harness, configuration):
        assert configuration is None
        return harness

    def result(self, harness):
        return Built(self.outcome, b"code", "why not")


class FakeMeasurer:
    device = "local-task"
    facts = facts_of("local-task")

    def time_default(self, bench, *, checked):
        assert not checked
        assert bench.default == b"code"
        return Timed("ok", (30.0, 20.0, 70.0))


def test_alone_every_call_takes_the_median(matmul) -> None:
    called = replace(matmul, calls=CallCount(4, in_loop=True))
    open_ended = Dispatch("open", CallCount(2), None, "sizes are not known")
    unused = replace(matmul, name="unused", calls=CallCount(0))
    found = time_alone([called, open_ended, unused], FakeBuilder(), FakeMeasurer())
    assert found == {
        matmul.name: Spent(120.0, 4.0, "called in a loop; one iteration is counted"),
        "open": Spent(0.0, 2.0, "not measured: sizes are not known"),
    }


def test_alone_what_does_not_compile_is_told(matmul) -> None:
    builder = FakeBuilder()
    builder.outcome = "compile_error"
    (found,) = time_alone([matmul], builder, FakeMeasurer()).values()
    assert found.note == "not measured: compile_error: why not"


def profiled(monkeypatch, cpu, dispatch, measured, **options):
    monkeypatch.setattr(runs, "_measure", lambda *_: measured)
    tools = runs.Tools(None, FakeBuilder(), FakeMeasurer())
    return runs.profile_program(
        load_program(ZERO_MATMUL),
        cpu,
        tools=tools,
        dispatches=[dispatch],
        roofline=ROOFLINE,
        vmfb=b"",
        **options,
    )


def test_with_a_hal_profile_its_times_are_taken(monkeypatch, cpu, matmul) -> None:
    times = Times({matmul.name: 40.0}, {matmul.name: 1})
    found = profiled(monkeypatch, cpu, matmul, MeasuredProgram(("mm",), (50.0, 51.0), ((times, times),)))
    assert found.method == "hal"
    assert found.rows[0].time_us == 40.0
    assert (found.whole_us, found.rest_us) == (50.0, 10.0)


def test_without_one_dispatches_are_timed_alone_and_it_is_said(monkeypatch, cpu, matmul) -> None:
    measured = MeasuredProgram(("mm",), (50.0, 51.0), problem="the tool is gone")
    found = profiled(monkeypatch, cpu, matmul, measured)
    assert found.method == "standalone"
    assert found.rows[0].time_us == 30.0
    assert any("the tool is gone" in note for note in found.notes)
    with pytest.raises(TunerError, match="no profile: the tool is gone"):
        profiled(monkeypatch, cpu, matmul, measured, method="hal")


def test_what_cannot_be_profiled_is_a_usage_error(cpu) -> None:
    program = load_program(ZERO_MATMUL)
    with pytest.raises(UsageError, match="no device to measure on"):
        runs.profile_program(program, parse_target("llvm-cpu:znver4"))
    with pytest.raises(UsageError, match="'cuda' cannot be profiled"):
        runs.profile_program(program, replace(cpu, device="cuda"), method="hal")
