"""What a report shows, from a database and from memory, of odd data too."""

import json
import math
import shlex
from dataclasses import replace

import pytest
from amounts import amount
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, to_builtins
from msgspec.structs import fields
from report.made_up import NASTY, fill
from store.samples import COMPARISON, KEY, KEYS, SETTING, WORKLOAD, trial, trials

from iree_tuner.report.numbers import short, unlike
from iree_tuner.report.view import (
    ReportedRun,
    RunReport,
    Slice,
    TimeProfile,
    Tried,
    report_of_run,
    use_of,
    view,
)
from iree_tuner.result import workload_record
from iree_tuner.space.configuration import Assignment
from iree_tuner.store import Store, StoreError
from iree_tuner.store.record import (
    Finding,
    RunRecord,
    StepRecord,
    Use,
    WholeRecord,
    Worker,
    WorkloadRecord,
    conditions_of,
    record_of,
)
from iree_tuner.tuning.result import WorkloadResult

RUN = ReportedRun("model.mlir")


def gather(run, findings, tried):
    return view(run, record_of(findings), tried)


KINDS = ("profile", "workload", "whole", "time", "conditions", "use")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "trials.db") as opened:
        yield opened


def test_all_that_was_kept_is_there(tmp_path):
    run = fill(tmp_path / "made.db", workloads=3, trials=12)
    with Store.open(tmp_path / "made.db", readonly=True) as store:
        report = report_of_run(store)
    assert (report.run.number, report.run.state, report.tried) == (run, "done", 36)
    first, second, third = report.workloads
    assert [each.share for each in report.workloads] == [0.5, 0.25, 0.125]
    assert first.label == "matmul 4x5x6 f32"
    assert first.verdict == "win"
    assert first.speedup == pytest.approx(1 / 0.6, rel=0.01)
    assert [point.order for point in second.points] == list(range(1, 13))
    assert sum(third.outcomes.values()) == third.trials == 12
    assert first.floor_us == 12.5, "from the profile: a quarter of 100, in two calls"
    whole = report.whole
    assert (whole.verdict, whole.speedup, whole.interval) == ("win", 1.5, (1.4, 1.6))
    assert (whole.default_us, whole.time_us, whole.pairs) == (900.0, 600.0, 80)
    assert whole.steps[0].verdict == "lose"
    assert report.before.slices[0].label == first.label
    assert report.after.slices[0].time_us == report.before.slices[0].time_us / 2
    assert report.before.rest_us == pytest.approx(400.0 - 100.0 - 50.0 - 100.0 / 3 - 5.0)
    assert report.use.commands == [f"iree-compile '{NASTY}'"]
    assert {"clock": "2600 MHz", "cores": "2", "cold caches": "yes", "effort": "quick"}.items() <= dict(
        report.conditions
    ).items()
    failed = [point for part in report.workloads for point in part.points if point.score is None]
    assert sum(each.count for each in report.failures) == len(failed) > 0


def test_before_and_after_have_one_roofline():
    """A tuned dispatch that read faster than the probe has raised it."""

    def profile(when, time_us, least_us, speed):
        row = {"name": "d", "time_us": time_us, "attainable_us": least_us}
        levels = [{"bytes_per_s": speed}]
        return {"when": when, "whole_us": 99.0, "rows": [row], "roofline": {"levels": levels}}

    found = [
        Finding("profile", profile("before", 80.0, 60.0, 1e9)),
        Finding("profile", profile("after", 20.0, 20.0, 3e9)),
    ]
    report = gather(RUN, found, [])
    assert [each.slices[0].attainable_us for each in (report.before, report.after)] == [20.0, 20.0]
    assert report.before.roof == report.after.roof


def test_a_run_without_findings_is_shown_from_its_trials(store):
    run = store.start_run("model.mlir", {})
    study = store.study(KEY)
    store.add(
        study, run, [trial(1, at=2.0), trial(2, "compile_error", at=1.0, message="no"), trial(3, at=3.0)]
    )
    store.add_verdict(study, run, None, replace(COMPARISON, verdict="lose"))
    store.add_verdict(study, run, trial(1).assignment, COMPARISON)
    report = report_of_run(store)
    (part,) = report.workloads
    assert (part.verdict, part.speedup, part.interval) == ("win", COMPARISON.speedup, COMPARISON.interval)
    assert (part.default_us, part.time_us) == (101.0, 50.5)
    assert [point.outcome for point in part.points] == ["compile_error", "ok", "ok"]
    assert (part.share, part.trials, report.whole, report.before) == (None, 3, None, None)
    assert report.assumed
    assert report.use.commands[0] == "iree-tuner compile model.mlir --spec model.spec.mlir -o tuned.vmfb"


def test_kernels_stand_beside_the_configurations_of_their_workload(store):
    run = store.start_run("model.mlir", {})
    store.add(store.study(KEY), run, [trial(1, at=1.0), trial(2, "run_error", at=2.0, message="no")])
    kernel = store.study(replace(KEY, space="another", space_label="kernel:mine"))
    store.add(kernel, run, [trial(7, at=3.0), trial(8, "run_error", at=4.0, message="no")])
    store.add_verdict(kernel, run, trial(7).assignment, COMPARISON)
    body = {"key": WORKLOAD.key, "workload": WORKLOAD.name, "share": 0.5, "verdict": "tie", "speedup": 1.0}
    store.add_finding(run, "workload", body)
    store.end_run(run, "done")
    report = report_of_run(store)
    assert report.aside == ()
    assert [each.label for each in report.workloads] == [
        "matmul 4x5x6 f32", "matmul 4x5x6 f32 by mine",
    ]  # fmt: skip
    configurations, kernels = report.workloads
    assert (configurations.share, configurations.verdict) == (0.5, "tie")
    assert (kernels.share, kernels.verdict, kernels.trials) == (None, "win", 2)
    assert [each.named_cause for each in report.failures] == ["mine: no", "no"]
    assert report.use.commands == (), "a kernel that wins is no entry of a tuning spec"


def test_a_run_shows_what_was_known_when_it_ended(store):
    first = store.start_run("a.mlir", {})
    store.add(store.study(KEY), first, [trial(1, at=1.0), trial(2, at=2.0)])
    second = store.start_run("a.mlir", {})
    store.add(store.study(KEY), second, [trial(3, at=3.0)])
    store.end_run(second, "done")
    store.add(store.study(KEY), first, [trial(4, at=9e9)])
    (part,) = report_of_run(store, second).workloads
    assert (part.trials, part.earlier) == (3, 2)


def test_runs_are_chosen(store):
    with pytest.raises(StoreError, match="the database has no runs yet"):
        report_of_run(store)
    empty = store.start_run("a/model.mlir", {})
    with pytest.raises(StoreError, match="no run in the database has any trials yet"):
        report_of_run(store)
    used = store.start_run("a/model.mlir", {})
    store.add_finding(used, "whole", {})
    other = store.start_run("b.mlir", {})
    store.add_finding(other, "whole", {})
    store.start_run("c.mlir", {})
    assert report_of_run(store).run.number == other
    assert report_of_run(store, empty).run.number == empty
    for name in ("a/model.mlir", "model.mlir", "model"):
        assert report_of_run(store, program=name).run.number == used
    with pytest.raises(StoreError, match=f"the database has no run 9 .its runs are {empty} to"):
        report_of_run(store, 9)
    with pytest.raises(
        StoreError, match=r"the database has no run of 'c\.mlir' .there are runs of a/model\.mlir, b\.mlir"
    ):
        report_of_run(store, program="c.mlir")


class MadeTask:
    """What a result needs of a task."""

    workload = WORKLOAD
    dispatches = ()
    calls = 3


def as_json(value):
    """Lists and tuples are the same in it."""
    return json.loads(json.dumps(to_builtins(value)))


def test_memory_and_database_give_the_same(store):
    tried = (trial(1, at=1.0), trial(2, "compile_error", at=2.0, message="no"), trial(3, at=3.0))
    result = WorkloadResult(MadeTask(), 0.75, tried, 100, COMPARISON, None, "a note", 5.0, judged=True)
    whole = WholeRecord(
        verdict="tie", function="main", left_out=["x"], note="n", steps=[StepRecord(what="all", speedup=1.5)]
    )
    record = RunRecord(
        [workload_record(result)],
        whole,
        conditions=conditions_of(SETTING, tried),
        use=use_of("a b.mlir", SETTING.flags, "s.mlir"),
    )
    run = store.start_run("model.mlir", {})
    store.add(store.study(KEY), run, tried)
    store.add_verdict(store.study(KEY), run, tried[0].assignment, COMPARISON)
    for each in record.findings():
        store.add_finding(run, each.kind, each.body)
    kept = report_of_run(store)
    assert as_json(record_of(store.findings(run))) == as_json(record)
    made = view(
        kept.run,
        record,
        [Tried(WORKLOAD.key, WORKLOAD.name, tried, size=100, judged=COMPARISON, setting=SETTING)],
    )
    assert as_json(made) == as_json(kept)
    assert made.workloads[0].calls == 3
    assert made.workloads[0].verdict == "tie", "no entry came of it"
    assert "iree-compile tuned.mlir --flag --other=1 -o" in made.use.commands[1]


@pytest.mark.parametrize("target", ["", "hip:gfx942", "cuda:sm_90", "vulkan:ampere"])
def test_no_command_relies_on_a_flag_that_does_nothing_or_deadlocks(target):
    commands = use_of("m.mlir", SETTING.flags, "s.mlir", target).commands
    assert not any("tuning-spec-path" in command for command in commands)
    assert all(f"--target {target}" in command for command in commands if target)


@pytest.mark.parametrize("program", ["model.onnx", "convs.txt", "conv -n 1 -c 4", "-"])
def test_no_command_gives_the_compiler_what_it_does_not_read(program):
    own, embedded = use_of(program, SETTING.flags, "s.mlir").commands
    assert own.startswith(f"iree-tuner compile {shlex.quote(program)} --spec s.mlir")
    assert "&& iree-compile tuned.mlir" in embedded


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("\udc80"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    each.encode_name
    for body in (TimeProfile, Slice, WorkloadRecord, WholeRecord, StepRecord, Worker, Use)
    for each in fields(body)
]
names = st.sampled_from([*NAMES, "setting", "readings", "levels", "flops_per_s", "space_count"])
objects = st.dictionaries(names, odd, max_size=8)
odd_bodies = st.dictionaries(names, odd | objects | st.lists(objects, max_size=3), max_size=10)
findings = st.lists(st.builds(Finding, st.sampled_from([*KINDS, "newer"]), odd_bodies), max_size=6)
some_tried = st.lists(
    st.builds(
        Tried, st.sampled_from(["", "a", "b"]), st.text(max_size=5), st.lists(trials, max_size=5),
        st.sampled_from(["", "A", "A+B"]), setting=st.none() | st.sampled_from([key.setting for key in KEYS]),
    ),
    max_size=3,
)  # fmt: skip


@settings(max_examples=amount(10, 500), deadline=None)
@given(findings, some_tried)
def test_odd_data_is_passed_over(found, tried):
    report = gather(RUN, found, tried)
    labels = [each.label for each in report.workloads]
    assert len(set(labels)) == len(labels)
    for part in report.workloads:
        assert all(point.score is None or 0 < point.score < math.inf for point in part.points)
        assert_finite(part)
    for profile in (report.before, report.after):
        assert profile is None or isinstance(profile, TimeProfile)
        for each in profile.slices if profile else ():
            assert 0 < each.time_us < math.inf


def assert_finite(compared):
    for name in ("speedup", "default_us", "time_us"):
        value = getattr(compared, name)
        assert value in (None, UNSET) or 0 < value < math.inf


def test_nothing_is_an_empty_report():
    report = gather(RUN, [], [])
    assert report == RunReport(RUN)


def test_of_several_findings_the_last_counts():
    found = [Finding("whole", {"note": str(at)}, at=at) for at in (2.0, 3.0, 1.0)]
    assert gather(RUN, found, []).whole.note == "3.0"


def test_a_program_that_became_slower_has_nothing_to_use():
    tried = [Tried(WORKLOAD.key, "w", [trial(1)], judged=COMPARISON, setting=SETTING)]
    assert gather(RUN, [], tried).use.commands
    assert not gather(RUN, [Finding("whole", {"verdict": "lose", "speedup": 0.9})], tried).use.commands


OTHER = replace(SETTING, target="llvm-cpu:host+data-tiling", flags=("--tiled",))


def test_what_was_tried_under_other_flags_stands_aside():
    used = Tried(WORKLOAD.key, "w", [trial(1, at=1.0)], judged=COMPARISON, setting=SETTING)
    later = replace(used, trials=[trial(1, at=5.0), trial(2, "compile_error", at=6.0)], setting=OTHER)
    elsewhere = replace(used, key="other", name="v", setting=OTHER)
    found = [
        Finding("conditions", conditions_of(SETTING)),
        Finding("workload", {"key": WORKLOAD.key, "share": 0.5}),
    ]
    report = gather(RUN, found, [used, later, elsewhere])
    assert [(part.workload, part.share, part.trials) for part in report.workloads] == [("w", 0.5, 1)]
    assert [(part.workload, part.target) for part in report.aside] == [
        ("w", OTHER.target),
        ("v", OTHER.target),
    ]
    assert (report.tried, len(report.wins), len(report.failures)) == (4, 1, 1)
    assert "--flag --other=1" in report.use.commands[1], "those of the result"
    assert [part.trials for part in gather(RUN, [], [used, later]).workloads] == [2], (
        "the last, where none is told"
    )


def test_flags_alone_can_be_used_and_what_is_left_out_cannot():
    told = Finding("conditions", conditions_of(SETTING))
    won = Finding("workload", {"workload": "w", "verdict": "win", "speedup": 2.0})
    flags, left_out = Finding("whole", {"flags": ["--tiled"]}), Finding("whole", {"left_out": ["w"]})
    assert gather(RUN, [told, won], []).use.commands
    assert gather(RUN, [told, flags], []).use.commands
    assert not gather(RUN, [told, won, left_out], []).use.commands
    assert not gather(RUN, [told], []).use.commands


def test_spaces_of_a_workload_are_told_apart():
    both = [replace(trial(), assignment=Assignment.of({"x": 1, "space": place})) for place in (0, 1)]
    for label, names in (("A+B", ["A", "B"]), ("", ["space 0", "space 1"])):
        (part,) = gather(RUN, [], [Tried("k", "w", both, label=label)]).workloads
        assert [point.pipeline for point in part.points] == names
        assert all(point.knobs == {"x": 1} for point in part.points)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("matmul_512x768x1024_f32_f32_f32", "matmul 512x768x1024 f32"),
        ("batch_matmul_2x3x4x5_f16_f16_f32", "batch matmul 2x3x4x5 f16 f32"),
        ("softmax", "softmax"),
        ("", ""),
        ("x" * 100, "x" * 43 + "…"),
    ],
)
def test_labels_are_short(name, label):
    assert short(name) == label


@given(st.lists(st.sampled_from(["a", "a #1", "a #2", "b"]), max_size=6))
def test_labels_are_unlike(names):
    found = unlike(names)
    assert len(set(found)) == len(found)
    assert all(each.startswith(name) for each, name in zip(found, names, strict=True))
