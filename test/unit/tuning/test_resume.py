"""A tuner that is killed at any moment loses what was in flight, and nothing else."""

import os
import random
import signal
import sqlite3

from amounts import amount
from tuning.fakes import close, fake_lab, fake_search
from tuning.studies import STUDY

from iree_tuner.store import Store
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.search import InTurns
from iree_tuner.tuning.stop import StopRequest

KILLS = amount(8, 200)
TRIALS = 20 * KILLS


def search_all(path, texts, acknowledge, *, fresh=False):
    """A whole run; `acknowledge` hears of each trial that was not known before."""
    stop = StopRequest()
    lab = fake_lab(alternate=True, jobs=2)
    try:
        with open_records(path, "program.mlir", {}, stop=stop, fresh=fresh) as records:
            search = fake_search(texts, lab, records, study=STUDY)
            known = set(search.known_assignments)
            for _, trial in Engine(lab, stop, 16).run(InTurns([search])):
                if fresh or trial.assignment not in known:
                    acknowledge(trial.assignment["x"])
    finally:
        close(lab)
    return search


def killed_run(path, texts, after):
    """Run in a process of its own, killed when it has acknowledged so many; what it acknowledged in all."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            search_all(path, texts, lambda place: os.write(writer, b"%d\n" % place))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        lines = [pipe.readline() for _ in range(after)]
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        lines += pipe.read().splitlines(keepends=True)
    return [int(line) for line in lines if line.endswith("\n")], status == 0


def test_kills(tmp_path):
    path = tmp_path / "trials.db"
    rng = random.Random(4)
    texts = [f"code:{index + 1} time:{rng.randrange(80, 300)}" for index in range(TRIALS)]
    done: list[int] = []
    interrupted = 0
    for _ in range(KILLS):
        acknowledged, finished = killed_run(path, texts, rng.randrange(16))
        interrupted += not finished
        done += acknowledged
        if path.exists():
            check = sqlite3.connect(path).execute("pragma integrity_check").fetchone()
            assert check == ("ok",)
    assert interrupted, "every run came to its end before it was killed"
    assert len(done) == len(set(done)), "a finished trial was repeated"
    with Store.open(path) as store:
        kept = {assignment["x"] for assignment in store.trials(store.study(STUDY))}
    assert set(done) <= kept, "a finished trial was lost"
    repeated: list[int] = []
    search = search_all(path, texts, repeated.append)
    assert not set(repeated) & set(done)
    assert sorted(trial.assignment["x"] for trial in search.trials) == list(range(TRIALS))


def test_what_is_known_is_not_tried_again(tmp_path):
    path = tmp_path / "trials.db"
    texts = [f"code:{index + 1} time:{100 + index}" for index in range(50)]
    first: list[int] = []
    search_all(path, texts, first.append)
    again: list[int] = []
    search = search_all(path, texts, again.append)
    assert len(first) == 50
    assert again == []
    assert len(search.trials) == 50
    assert len(search.strategy.told) == 50, "the strategy learns from what is known"
    anew: list[int] = []
    search_all(path, texts, anew.append, fresh=True)
    assert len(anew) == 50
