"""Versions of a program with kernels: with the option that fuses more, too."""

from __future__ import annotations

import pytest

from iree_tuner.kernels.source import versions_with
from iree_tuner.targets import parse_target
from iree_tuner.targets.options import fusing_more
from iree_tuner.tuning.verdict import Tuned


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("cuda:sm_80", ("aggressive-fusion",)), ("cuda:sm_80+O1", ("O1", "aggressive-fusion")),
        ("cuda:sm_80+O3", ()), ("cuda:sm_80+aggressive-fusion", ()), ("llvm-cpu:host", ()),
    ],
)  # fmt: skip
def test_options_that_fuse_more(target: str, options: tuple[str, ...]) -> None:
    assert fusing_more(parse_target(target)) == options


@pytest.mark.parametrize("chip", ["sm_80", "sm_80+O3"])
def test_the_last_choices_are_tried_with_it(chip: str) -> None:
    target = parse_target(f"cuda:{chip}")
    choices = {"kernels": [], "more kernels": [], "kernels and fused ops": []}
    made = versions_with(Tuned(target, (), ()), choices)
    fused = [each for each in made if each.target != target]
    assert len(made) == 3 + len(fused)
    assert [each.what for each in fused] == (
        ["aggressive-fusion and more kernels", "aggressive-fusion and kernels and fused ops"]
        if chip == "sm_80"
        else []
    )
    for each in fused:
        assert each.target == parse_target("cuda:sm_80+aggressive-fusion")


def test_the_last_choices_are_tried_without_the_chosen_flags() -> None:
    given, chosen = parse_target("llvm-cpu:host"), parse_target("llvm-cpu:host+data-tiling")
    choices = {"kernels": [], "more kernels": [], "kernels and fused ops": []}
    made = versions_with(Tuned(chosen, (), ()), choices, (given,))
    assert [each.what for each in made if each.target == given] == [
        "default flags and more kernels", "default flags and kernels and fused ops",
    ]  # fmt: skip
