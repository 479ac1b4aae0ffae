"""A study for trials that nobody compiles."""

import hand_made

from iree_tuner.store.trial import Setting, StudyKey

SETTING = Setting("3.13.0", "3.13.0", "llvm-cpu:host", ("--flag",), "fake", "a processor", 2)
WORKLOAD = hand_made.workload(
    "contraction", "matmul", (4, 5, 6), ("parallel", "parallel", "reduction"), ("f32", "f32", "f32"),
    ("(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)"),
    (("m", (0,)), ("n", (1,)), ("k", (2,))),
)  # fmt: skip
STUDY = StudyKey(
    setting=SETTING, workload=WORKLOAD, code="0123456789abcdef", space="fedcba9876543210",
    space_label="DoubleTilingExpert", space_size=100,
)  # fmt: skip
