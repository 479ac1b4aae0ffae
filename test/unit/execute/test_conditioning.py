"""Whether a program's results are right where the default's are not."""

import numpy as np
import pytest

from iree_tuner.execute.conditioning import Depth, agreement_of, arbitrated, slack_of

RIGHT = np.linspace(1.0, 2.0, 64, dtype=np.float16)
NUMBERLESS = np.full_like(RIGHT, np.nan)
OURS = RIGHT + np.float16(0.02)


@pytest.mark.parametrize(("moves", "right"), [(0.05, True), (0.001, False)])
def test_the_processor_says_how_far_results_may_be_off(moves: float, right: bool) -> None:
    """What is not a number does not move, which would leave nothing but the last rounding."""
    (slack,) = slack_of(Depth(dispatches=50), [[NUMBERLESS]], lambda: [[NUMBERLESS]])
    assert slack == [0.0]
    found = agreement_of([[OURS]], [[NUMBERLESS]], [slack])
    assert not found.ok
    decided = arbitrated(found, [[OURS]], [[NUMBERLESS]], [slack], lambda _: ([RIGHT], [moves]))
    assert decided.ok == right
    assert decided.note.startswith("by default, the program computes wrong results" if right else "")
