"""Strategies are found in installed packages; `test/plugin` is one (`pip install ./test/plugin`)."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from grid import Grid, at

from iree_tuner import installed
from iree_tuner.cli.replay import replay
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.search import strategy as strategies
from iree_tuner.search.orders import Shuffle


@pytest.fixture
def entries(monkeypatch):
    """Puts entry points in the place of those that are installed."""

    def put(*pairs):
        found = [EntryPoint(name, value, strategies.GROUP) for name, value in pairs]
        monkeypatch.setattr(installed, "entry_points", lambda group: found)
        strategies._entries.cache_clear()

    yield put
    strategies._entries.cache_clear()


def test_what_is_installed_is_found():
    names = strategies.strategy_names()
    assert {"analytic", "local", "model", "shuffle"} <= set(names)
    assert list(names) == sorted(names)
    assert strategies.DEFAULT in names
    assert isinstance(strategies.make_strategy("shuffle", Grid(2), 0), Shuffle)


def test_an_unknown_strategy_is_named_with_those_there_are():
    with pytest.raises(UsageError, match=r"unknown strategy 'magic' \(one of: .*shuffle"):
        strategies.make_strategy("magic", Grid(2), 0)


def test_nothing_is_imported_before_it_is_used(entries):
    entries(("broken", "no.such.package:Strategy"), ("shuffle", "iree_tuner.search.orders:Shuffle"))
    assert strategies.strategy_names() == ("broken", "shuffle")
    strategies.check_strategy("broken")
    assert strategies.make_strategy("shuffle", Grid(2), 0).ask(9)


def test_two_owners_of_a_name_are_an_error_that_names_both(entries):
    entries(("climb", "one.search:Climb"), ("climb", "two.search:Climb"))
    with pytest.raises(TunerError, match=r"'climb'.*one\.search:Climb.*two\.search:Climb"):
        strategies.strategy_names()


def test_one_package_that_is_found_twice_is_none(entries):
    entries(*[("shuffle", "iree_tuner.search.orders:Shuffle")] * 2)
    assert strategies.strategy_names() == ("shuffle",)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_package", "no_such_package"),
        ("raise RuntimeError('no driver')", "no driver"),
        ("class Other: pass", "Broken"),
        ("class Broken:\n    def __init__(self): pass", "argument"),
    ],
)
def test_what_cannot_be_used_is_an_error_of_one_line(source, reason, entries, tmp_path, monkeypatch):
    name = f"broken_{abs(hash(source))}"  # a module is imported once
    (tmp_path / f"{name}.py").write_text(source + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries(("broken", f"{name}:Broken"))
    with pytest.raises(TunerError) as caught:
        strategies.make_strategy("broken", Grid(2), 0)
    message = str(caught.value)
    assert message.startswith(f"the strategy 'broken' ({name}:Broken) cannot be used: ")
    assert reason in message
    assert "\n" not in message


class TestPlugin:
    """`climb`, in thirty lines of another package."""

    @pytest.fixture(autouse=True)
    def module(self):
        return pytest.importorskip(
            "iree_tuner_test_plugin.strategy", reason="needs `pip install ./test/plugin`"
        )

    def test_it_is_short(self, module):
        assert len(Path(module.__file__).read_text().splitlines()) <= 30

    def test_it_is_found_through_its_entry_point(self, module):
        strategy = strategies.make_strategy("climb", Grid(9), 0, at(4, 4))
        assert isinstance(strategy, module.Climb)
        assert set(strategy.ask(4)) == set(Grid(9).neighbors(at(4, 4)))

    def test_replay_runs_it(self, tmp_path, capsys):
        path = tmp_path / "known.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in recording()))
        assert replay((path,), strategy=("climb",), seeds=3, batch=2, as_json=True) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        runs = [line for line in lines if "seed" in line]
        assert [(run["strategy"], run["seed"]) for run in runs] == [("climb", 0), ("climb", 1), ("climb", 2)]
        assert all(run["best_after"][-1] == 1.0 and len(run["best_after"]) == 12 for run in runs)
        assert {line["strategy"] for line in lines} == {"climb"}


def recording():
    """A recording of twelve members: the larger the tile, the faster."""
    yield {
        "recording": 1, "device": "NVIDIA H200", "driver": "0", "compiler": "3.13.0",
        "target": "cuda:sm_80", "op": "matmul", "m": 512, "n": 512, "k": 512, "lhs": "f16", "rhs": "f16",
        "result": "f32", "indexing_maps": ["(m,n,k)->(m,k)", "(m,n,k)->(k,n)", "(m,n,k)->(m,n)"],
        "space_size": 12,
    }  # fmt: skip
    yield {"pipeline": None, "knobs": None, "outcome": "ok", "min_us": 50.0}
    for m in (16, 32, 64, 128):
        for n in (16, 32, 64):
            knobs = {"wg_0": m, "wg_1": n, "red_2": 2, "mma_idx": 0, "sg_size": 32, "wg_size_x": 128}
            yield {
                "pipeline": "TileAndFuse", "knobs": knobs, "outcome": "ok", "min_us": 100.0 - m / 2 - n / 4
            }  # fmt: skip
