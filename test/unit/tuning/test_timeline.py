"""Every second of a run belongs to one stage."""

from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.compiler.worker import WorkSpan
from iree_tuner.tuning.timeline import APART, Timeline, WorkerTimeline


class Clock:
    def __init__(self):
        self.now = 50.0

    def __call__(self):
        return self.now


steps = st.lists(
    st.one_of(st.tuples(st.just("wait"), st.floats(0.0, 9.0)), st.sampled_from(["open a", "open b", "close"]))
)


@given(steps)
def test_stages_have_no_gaps_and_sum_up_to_the_run(steps):
    clock = Clock()
    timeline = Timeline(clock)
    opened = []
    for step in steps:
        if isinstance(step, tuple):
            clock.now += step[1]
        elif step == "close":
            if opened:
                opened.pop().__exit__(None, None, None)
        else:
            opened.append(timeline.stage(step))
            opened[-1].__enter__()
    use = timeline.use([])
    assert sum(use.seconds().values()) == use.total_s
    assert all(first.end == second.begin for first, second in zip(use.stages, use.stages[1:], strict=False))
    assert all(first.name != second.name for first, second in zip(use.stages, use.stages[1:], strict=False))
    assert abs(use.total_s - (clock.now - 50.0)) < 1e-9


def test_a_stage_within_another_interrupts_it():
    clock = Clock()
    timeline = Timeline(clock)
    with timeline.stage("search"):
        clock.now += 3
        with timeline.stage("baselines"):
            clock.now += 2
        clock.now += 5
    use = timeline.use([])
    assert use.seconds() == {"search": 8, "baselines": 2}
    assert [(stage.name, stage.seconds) for stage in use.stages] == [
        ("search", 3), ("baselines", 2), ("search", 5)
    ]  # fmt: skip


def test_what_workers_did_is_on_the_runs_clock():
    clock = Clock()
    timeline = Timeline(clock)
    with timeline.stage("search"):
        clock.now += 10
    spans = [
        WorkSpan(0, "build", 51.0, 53.0),
        WorkSpan(1, "build", 52.0, 53.0),
        WorkSpan(0, "build", 58.0, 70.0),
    ]
    use = timeline.use([("compiler", spans), ("cuda://0", spans[1:2])])
    assert [lane.worker for lane in use.lanes] == ["compiler 0", "compiler 1", "cuda://0"]
    assert use.busy_s(use.lanes[0], "search") == 4.0
    assert WorkerTimeline("x", (("f", 1.0, 2.0),)).busy_s(1.5, 9.0) == 0.5


def test_all_that_compares_results_is_counted_once():
    clock = Clock()
    timeline = Timeline(clock)
    clock.now += 10
    with timeline.stage(APART):
        clock.now += 5  # until 65: taking apart, and what the device is asked for
    clock.now += 5
    asked = [
        ("agree_here", 51, 53),
        ("rounds_here", 53, 58),
        ("judge_here", 61, 64),
        ("default_here", 66, 67),
    ]
    spans = [WorkSpan(0, what, float(begin), float(end)) for what, begin, end in asked]
    assert timeline.use([("compiler", []), ("local-task", spans)]).checked_s == 2 + 5 + 1
