"""Each workgroup of each dispatch is taken once, whichever workers ask, and whatever else runs."""

import ctypes
import itertools
import random
import shutil
import subprocess
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iree_tuner.kernels.c_code import compiler
from iree_tuner.kernels.code import __file__ as code_file

pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler")
SOURCE = """
typedef long index;
#include "{header}"
long take(unsigned worker, const void *result, long own) {{ return taken_by(worker, result, own); }}
"""


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    """A function that makes the one to call, for numbers of workgroups and workers."""
    folder = tmp_path_factory.mktemp("workgroups")

    numbers = itertools.count()

    def made(groups, workers):
        compiled = folder / f"{groups}_{workers}.so"
        if not compiled.exists():
            compile_for(groups, workers, compiled)
        library = folder / f"{next(numbers)}.so"  # each has a state of its own
        shutil.copy(compiled, library)
        call = ctypes.CDLL(library).take
        call.restype, call.argtypes = ctypes.c_long, [ctypes.c_uint, ctypes.c_void_p, ctypes.c_long]
        return call

    def compile_for(groups, workers, library):
        source = library.with_suffix(".c")
        source.write_text(SOURCE.format(header=code_file.replace("__init__.py", "workgroups.h")))
        macros = [f"-DGROUPS_X={groups}", "-DGROUPS_Y=1", "-DGROUPS_Z=1", f"-DWORKERS={workers}"]
        subprocess.run([compiler(), "-O2", "-shared", "-fPIC", *macros, source, "-o", library], check=True)

    return made


def test_each_worker_has_its_own_range(take):
    call = take(8, 2)
    for _ in range(3):  # the same ones in each dispatch
        assert [call(worker, 64, own) for own, worker in enumerate([1, 0, 1, 1, 0, 0, 1, 0])] == [
            4, 0, 5, 6, 1, 2, 7, 3,
        ]  # fmt: skip


def test_a_worker_that_is_done_helps_others(take):
    call = take(5, 3)
    assert [call(2, 64, own) for own in range(5)] == [3, 4, 0, 1, 2]
    assert [call(7, 64, own) for own in range(5)] == [1, 2, 3, 4, 0]  # more workers than were expected


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.sampled_from([(2, 2), (3, 2), (7, 3), (5, 8)]), dispatches=st.integers(1, 12),
    rounds=st.integers(1, 3), seed=st.integers(0, 1 << 30),
)  # fmt: skip
def test_all_workgroups_are_taken_once(take, sizes, dispatches, rounds, seed):
    """Claims of many dispatches in any order, more of them than are kept apart. Results are used again."""
    (groups, workers), rng = sizes, random.Random(seed)
    call = take(groups, workers)
    left = {number: list(range(groups)) * rounds for number in range(dispatches)}
    taken = {number: [] for number in left}
    while waiting := [number for number in left if left[number]]:
        number = rng.choice(waiting)
        taken[number].append(call(rng.randrange(workers + 1), 64 + number, left[number].pop(0)))
        if len(taken[number]) % groups == 0:
            assert sorted(taken[number][-groups:]) == list(range(groups))


@pytest.mark.parametrize("begun", [1, 3, 6])
def test_a_dispatch_that_was_given_up_is_forgotten(take, begun):
    """As when another dispatch of the program fails. The next one with this result is complete."""
    call = take(7, 2)
    for own in range(begun):
        call(own % 2, 64, own)
    for _ in range(2):
        assert sorted(call(own % 2, 64, own) for own in range(7)) == list(range(7))


def test_threads(take):
    """Six dispatches at a time by four workers."""
    groups, results = 40, 6
    call, taken, lock = take(groups, 4), Counter(), threading.Lock()
    numbers = {number: iter(range(groups)) for number in range(results)}

    def work(worker):
        rng, mine = random.Random(worker), Counter()
        while True:
            with lock:
                number = rng.choice(range(results))
                own = next(numbers[number], None)
                if own is None and all(next(each, None) is None for each in numbers.values()):
                    break
            if own is not None:
                mine[number, call(worker, 64 + number, own)] += 1
        with lock:
            taken.update(mine)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(taken.values()) == {1}
    assert len(taken) >= groups
