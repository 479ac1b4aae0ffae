"""No prior has seen the workload that it is used on."""

from dataclasses import replace

import hand_made
import pytest
from search.replay.recordings import NAMES, small

from iree_tuner.ops.workload import DynamicLoop
from iree_tuner.search.replay.leave_out import others, same_work, train_prior


@pytest.fixture(scope="module")
def spaces():
    return [small(name) for name in NAMES]


def test_others_are_of_the_same_kind_and_of_another_workload(spaces):
    deep, flat_cpu, flat, tall = spaces
    assert others(deep, spaces) == [flat]
    assert others(flat, spaces) == [deep]
    assert others(tall, spaces) == [flat_cpu]


def test_the_order_of_the_files_plays_no_part(spaces):
    more = [*spaces, *(small(name) for name in NAMES)]
    names = [each.name for each in others(spaces[0], more)]
    assert names == [each.name for each in others(spaces[0], more[::-1])]


def test_another_recording_of_the_same_workload_is_left_out(spaces):
    deep, _, flat, _ = spaces
    again = small(NAMES[0])
    again.name = "the same on another day"
    assert others(deep, [deep, again, flat]) == [flat]
    assert others(again, [deep, again]) == []


def test_a_dynamic_workload_is_the_static_one_of_its_size(spaces):
    static = spaces[0].workload
    dynamic = replace(static, dynamic=(DynamicLoop(0),))
    assert dynamic.key != static.key
    assert same_work(static, dynamic)
    assert not same_work(static, replace(dynamic, loops=(64, *static.loops[1:])))
    assert not same_work(static, replace(static, types=hand_made.named("bf16", "bf16", "f32")))


def test_knobs_without_a_model_of_costs_are_not_compared(spaces):
    deep, _, flat, _ = spaces
    for each in (deep, flat):
        each.kind = "knobs"
    try:
        assert others(deep, spaces) == []
        assert train_prior(deep, spaces) is None
    finally:
        for each in (deep, flat):
            each.kind = "gpu_matrix"


def test_what_a_prior_was_trained_on_does_not_include_the_workload(spaces):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `learn`)")
    for space in spaces:
        prior = train_prior(space, spaces)
        assert prior is not None
        assert prior.about == tuple(f"{each.name} {each.workload.key}" for each in others(space, spaces))
        assert not any(space.workload.key in text for text in prior.about)
        assert train_prior(space, [space]) is None


def test_a_prior_knows_the_order_of_what_it_was_trained_on(spaces):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `learn`)")
    space, other = small("flat_h200.jsonl"), small("deep_h200.jsonl.gz")
    other.prior = train_prior(space, [space, other])
    guesses = dict(zip(other.members, other.guess(other.encode(other.members)), strict=True))
    ranked = sorted(other.times_us, key=other.times_us.__getitem__)
    fast, slow = (sum(guesses[each] for each in part) for part in (ranked[:6], ranked[-6:]))
    assert fast < slow
