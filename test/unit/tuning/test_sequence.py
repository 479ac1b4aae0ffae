"""The order of trials, what each ended as, and the verdicts, over a compiler and a device that are functions.

A change that is to keep what a run does leaves `sequence.json` as it is. To write it again:
`python test/unit/tuning/test_sequence.py`.
"""

import json
import random
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tuning.fakes import Threads, close, fake_lab
from tuning.test_queue import World

from iree_tuner.device.numerics import Agreement
from iree_tuner.tuning.finals import FinalPlan, play_finals

RECORDED = Path(__file__).parent / "sequence.json"
WORDS = ("refuse", "wrong", "refuse-run", "invalid")


def texts_of(key):
    """Candidates of a workload: a tenth ends early, some have equal code."""
    draw = random.Random(f"texts {key}")
    texts = []
    for place in range(48):
        code = draw.choice((place, place, place, place // 2))
        text = f"code:{key}{code} time:{draw.lognormvariate(4.5, 0.3):.3f}"
        texts.append(f"{text} {draw.choice(WORDS)} id:{place}" if draw.random() < 0.1 else text)
    return texts


class Inline(Threads):
    """Calls that have ended when they are submitted, so that their order is always the same."""

    def submit(self, function, *args, timeout_s=None, **kwargs):
        ended = Future()
        try:
            ended.set_result(function(*args, **kwargs))
        except Exception as error:
            ended.set_exception(error)
        return ended


def in_order(monkeypatch):
    world = World(monkeypatch, texts=texts_of, count=12)
    close(world.lab)
    world.lab = fake_lab(alternate=True, jobs=1, workers=Inline(), measuring=[Inline()])
    return world


def sequence(monkeypatch, *, budget_s):
    world, found = in_order(monkeypatch), []
    try:
        queue = world.queue(*(400.0 / (place + 1) for place in range(12)), budget_s=budget_s)
        add = queue.add

        def noted(search):
            trial = search.trials[-1]
            own = next(each for each in queue.workloads if search in each.searches)
            times = [round(each, 3) for each in trial.samples_us]
            found.append([own.task.workload.key, trial.assignment["x"], trial.outcome, times])
            add(search)

        queue.add = noted
        world.run(queue)
    finally:
        close(world.lab)
    return found


def rounds(vmfbs, bench, count):
    """Times with noise, the same for the same executables. The default is faster than in the search."""
    draw = random.Random(repr(vmfbs))
    times = [float(vmfb.decode().partition("time:")[2].split()[0]) for vmfb in vmfbs]
    times[0] *= 0.6
    return [[time_us * draw.lognormvariate(0.0, 0.05) for time_us in times] for _ in range(count)]


def verdicts(monkeypatch):
    """The finals of searches with eight candidates each, of which a quarter of the finalists is wrong."""
    world = in_order(monkeypatch)
    world.cap, world.lab.measurer.rounds = 8, rounds
    world.lab.measurer.agrees = lambda vmfb, bench: Agreement(random.Random(vmfb).random() > 0.25, 0.0, "off")
    try:
        queue = world.queue(*[5.0] * 12, budget_s=None)
        world.run(queue)
        keys = {search: each.task.workload.key for each in queue.workloads for search in each.searches}
        plan = FinalPlan(3, 2, 64, 1e6, keep=2)
        finals = play_finals(queue.searches, world.lab, lambda _, __: plan)
    finally:
        close(world.lab)
    return [
        [
            keys[search], final.winner.assignment["x"] if final.winner else None, final.note,
            final.comparison and [final.comparison.verdict, round(final.comparison.speedup, 4)],
            [each.winner.assignment["x"] for each in final.others],
            [trial.outcome for trial in search.trials],
        ]
        for search, final in finals.items()
    ]  # fmt: skip


def test_the_verdicts_are_the_recorded_ones(monkeypatch):
    assert verdicts(monkeypatch) == json.loads(RECORDED.read_text())["finals"]


@pytest.mark.parametrize("budget_s", [60.0, None])
def test_the_sequence_is_the_recorded_one(monkeypatch, budget_s):
    assert sequence(monkeypatch, budget_s=budget_s) == json.loads(RECORDED.read_text())[str(budget_s)]


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        made = {str(budget_s): sequence(patch, budget_s=budget_s) for budget_s in (60.0, None)}
        made["finals"] = verdicts(patch)
    lines = [
        f" {json.dumps(key)}: [\n  " + ",\n  ".join(map(json.dumps, rows)) + "\n ]"
        for key, rows in made.items()
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
