"""Versions of a program with kernels: with the option that fuses more, too."""

from __future__ import annotations

import pytest

from iree_tuner.kernels.source import versions_with
from iree_tuner.targets import parse_target
from iree_tuner.targets.find import fusing_more
from iree_tuner.tuning.flags import option, optioned, untuned
from iree_tuner.tuning.verdict import Tuned


@pytest.mark.parametrize(
    ("target", "option"),
    [
        ("cuda:sm_80", "aggressive-fusion"), ("cuda:sm_80+O1", "aggressive-fusion"),
        ("cuda:sm_80+O3", ""), ("cuda:sm_80+aggressive-fusion", ""), ("llvm-cpu:host", ""),
    ],
)  # fmt: skip
def test_options_that_fuse_more(target: str, option: str) -> None:
    assert fusing_more(parse_target(target)) == option


@pytest.mark.parametrize("chip", ["sm_80", "sm_80+O3"])
def test_the_last_choices_are_tried_with_it(chip: str) -> None:
    target = parse_target(f"cuda:{chip}")
    choices = {"kernels": [], "more kernels": [], "kernels and fused ops": []}
    made = versions_with(Tuned(target, (), ()), choices)
    fused = [each for each in made if each.changes]
    assert len(made) == 3 + len(fused)
    assert [each.what for each in fused] == (
        ["aggressive-fusion and more kernels", "aggressive-fusion and kernels and fused ops"]
        if chip == "sm_80"
        else []
    )
    for each in fused:
        assert optioned(each.target, each.changes) == parse_target("cuda:sm_80+aggressive-fusion")


def test_what_was_chosen_may_fuse_more_already() -> None:
    target = parse_target("cuda:sm_80")
    for how, versions in (("O1", 2), ("O3", 1)):
        made = versions_with(Tuned(target, (), (), changes=(option(target, how),)), {"kernels": []})
        assert len(made) == versions


def test_the_last_choices_are_tried_without_the_chosen_flags() -> None:
    target = parse_target("llvm-cpu:host")
    tuned = Tuned(target, (), (), changes=(option(target, "data-tiling"),))
    choices = {"kernels": [], "more kernels": [], "kernels and fused ops": []}
    made = versions_with(tuned, choices, [untuned(target)])
    assert [each.what for each in made if not each.changes] == [
        "default flags and more kernels", "default flags and kernels and fused ops",
    ]  # fmt: skip
