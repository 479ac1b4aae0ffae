"""Options are declared once: as keyword arguments and as flags they are the same."""

import inspect
from dataclasses import fields

import pytest
from amounts import amount
from cyclopts import App
from hypothesis import given, settings
from hypothesis import strategies as st

import iree_tuner
from iree_tuner.errors import UsageError
from iree_tuner.tuning.options import RecordingOptions, TuningOptions

NAMES = st.text("abcdefg_", min_size=1).map("x{}".format)
TUNING = st.fixed_dictionaries(
    {},
    optional={
        "device": st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple),
        "chip": NAMES,
        "jobs": st.integers(1, 2),
        "db": NAMES,
        "fresh": st.booleans(),
        "effort": st.sampled_from(["smoke", "quick", "default", "full"]),
        "budget_s": st.floats(0.25, 1e6),
        "candidates": st.integers(1, 99),
        "strategy": st.sampled_from(["local", "shuffle"]),
        "seed": st.integers(0, 2**40),
        "starters": st.lists(NAMES, max_size=3).map(tuple),
        "try_flags": st.booleans(),
        "warm": st.booleans(),
        "profile": st.booleans(),
    },
)
FLAGS = {"budget_s": "budget", "starters": "starter"}
OFF = {"starters": "--no-starters", "try_flags": "--keep-flags", "profile": "--no-profile"}


def written(arguments):
    """As a user writes them on a command line."""
    for name, value in arguments.items():
        flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
        if value is True:
            yield flag
        elif value in (False, ()):
            yield from [OFF[name]] if name in OFF else []
        else:
            for each in value if isinstance(value, tuple) else (value,):
                yield f"{flag}={each:.9f}" if isinstance(each, float) else f"{flag}={each}"


def parsed(options, tokens):
    """What the command line makes of them."""
    app = App()
    app.default(lambda *, options: options)
    app.default_command.__annotations__["options"] = options
    app.default_command.__kwdefaults__ = {"options": options()}
    return app(list(tokens), exit_on_error=False, print_error=False, result_action="return_value")


@settings(max_examples=amount(25, 500))
@given(TUNING)
def test_flags_are_keyword_arguments(arguments):
    found, expected = parsed(TuningOptions, written(arguments)), TuningOptions(**arguments)
    assert found.devices == expected.devices
    assert found.budget_s == pytest.approx(expected.budget_s)
    for each in fields(TuningOptions):
        value, other = getattr(found, each.name), getattr(expected, each.name)
        if each.name == "starters" and value is not None:
            assert tuple(map(str, value)) == other
        elif each.name == "db" and value is not None:
            assert str(value) == other
        elif each.name not in ("device", "budget_s"):
            assert value == other, each.name


def test_the_function_takes_and_documents_each():
    known = inspect.signature(iree_tuner.tune_module).parameters
    assert {each.name for each in fields(TuningOptions)} < known.keys()
    assert "Annotated" not in str(known["budget_s"])
    for name in list(known)[1:]:
        assert f"\n    {name}: " in inspect.getdoc(iree_tuner.tune_module)


@pytest.mark.parametrize(
    ("options", "more", "says"),
    [
        (TuningOptions, {"budget_s": "90s"}, "budget_s must be positive and finite, but is '90s'"),
        (TuningOptions, {"effort": "most"}, "most"),
        (TuningOptions, {"device": ()}, "give at least one device, and each device once"),
        (TuningOptions, {"device": ("cuda://0", "cuda://0")}, "give at least one device"),
        (RecordingOptions, {"count": -1}, "count must be at least 0, but is -1"),
        (RecordingOptions, {"seed": "7"}, "seed must be at least 0, but is '7'"),
        (RecordingOptions, {"jobs": 0}, "jobs must be from 1 to "),
    ],
)
def test_each_is_checked_when_it_is_made(options, more, says):
    with pytest.raises(UsageError) as told:
        options(**more)
    assert says in str(told.value)


def test_an_unknown_one_is_named():
    with pytest.raises(TypeError, match="budget"):
        iree_tuner.tune_module("p.mlir", budget=60)
