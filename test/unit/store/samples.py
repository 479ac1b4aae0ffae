"""Studies, trials and comparisons, plain ones and drawn ones."""

from dataclasses import replace

import hand_made
from hypothesis import strategies as st
from paired import compare_pairs

from iree_tuner.device.outcome import Readings
from iree_tuner.ops.workload import DynamicLoop
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.rows import OUTCOMES
from iree_tuner.store.trial import Setting, StudyKey, Trial

SETTING = Setting("3.13.0", "3.13.0", "llvm-cpu:host", ("--flag", "--other=1"), "local-task", "a CPU", 2)
WORKLOAD = hand_made.workload(
    "contraction", "matmul", (4, 5, 6), ("parallel", "parallel", "reduction"), ("f32", "f32", "f32"),
    ("(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)"),
    (("m", (0,)), ("n", (1,)), ("k", (2,))),
)  # fmt: skip
KEY = StudyKey(SETTING, WORKLOAD, "0123456789abcdef", "fedcba9876543210", "DoubleTilingExpert", 100)
DYNAMIC = replace(KEY, workload=replace(WORKLOAD, dynamic=(DynamicLoop(0, 16, None, 16),)))
KEYS = (KEY, DYNAMIC, replace(KEY, code="another"), replace(KEY, setting=replace(SETTING, driver="580")))
COMPARISON = compare_pairs([([100.0, 101.0, 102.0] * 4, [50.0, 51.0, 50.5] * 4)])


def trial(value=1, outcome="ok", at=1.0, **more):
    """A trial of the knob x."""
    samples = (50.0 + value, 51.0 + value) if outcome == "ok" else ()
    return Trial(
        WORKLOAD.key, Assignment.of({"x": value}), outcome, samples_us=samples, baseline_us=100.0, at=at,
        **more,
    )  # fmt: skip


any_float = st.floats(allow_nan=False)
some = st.none() | any_float
texts = st.text(max_size=20)
assignments = st.dictionaries(texts, st.integers(-(2**70), 2**70), max_size=4).map(Assignment.of)
readings = st.builds(
    Readings, clock_mhz=some, temperature_c=some, load=some, stolen=some, throttled=st.integers(0, 9)
)
trials = st.builds(
    Trial, workload=texts, assignment=assignments, outcome=st.sampled_from(OUTCOMES),
    samples_us=st.lists(any_float, max_size=5).map(tuple), baseline_us=any_float, message=texts, digest=texts,
    compile_s=any_float, measure_s=any_float, device=texts, worst=some, readings=readings, at=any_float,
    reproducer=texts,
)  # fmt: skip
