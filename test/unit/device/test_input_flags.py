"""The flags that say how a program is run."""

import pytest
from cyclopts import App
from whole_programs import WITH_PARAMETERS

from iree_tuner.cli.inputs import InputFlags, parse_input, parse_parameters
from iree_tuner.device.program_run import Filled
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.program.source import load_program

DEFAULTS = InputFlags()


def parsed(*arguments):
    """As a command has them, beside flags of its own."""
    app = App()

    @app.default
    def command(*, flags: InputFlags = DEFAULTS, seed: int = 0):
        return flags

    return app(arguments, exit_on_error=False, print_error=False, result_action="return_value")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-", None),
        ("3", 3),
        ("-1.5", -1.5),
        ("1e-3", 1e-3),
        ("x.npy", "x.npy"),
        ("@x", "x"),
        ("2x3xf32=1.5", Filled((2, 3), "f32", 1.5)),
        ("f32=2", Filled((), "f32", 2)),
        ("4xbf16=-1", Filled((4,), "bf16", -1)),
    ],
)
def test_inputs_are_read(text, value):
    found = parse_input(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["", "x.txt", "2x3xf32", "2x3xf32=", "2x3xf32=x", "2x?xf32=1", "=1", "nan"])
def test_what_is_no_input_is_told(text):
    with pytest.raises(UsageError, match=f"'{text.replace('?', '.')}' is not an input"):
        parse_input(text)


def test_archives_are_read():
    assert parse_parameters("a/w.irpa") == (None, "a/w.irpa")
    assert parse_parameters("model=a/w.irpa") == ("model", "a/w.irpa")
    assert parse_parameters("=w.irpa") == ("", "w.irpa")


def test_flags_make_a_run():
    flags = parsed("--function", "@accumulate", "--input", "4x8xf32=1", "--input", "-2.5", "--dim", "16")
    program = flags.sized(load_program(WITH_PARAMETERS))
    run = flags.request(program)
    assert run.functions == ("accumulate",)
    assert run.inputs == (Filled((4, 8), "f32", 1), -2.5)
    assert [each.size for each in run.sizes] == [16]
    assert [str(each) for each in run.wanted] == ["model::w", "model::b"]


def test_several_of_each_may_be_given():
    flags = parsed("--input", "-", "--input=-1", "--parameters", "a.irpa", "--parameters", "b=c.irpa")
    assert flags.input == ("-", "-1")
    assert flags.parameters == ("a.irpa", "b=c.irpa")


def test_without_flags_everything_is_generated():
    run = parsed().request(load_program(WITH_PARAMETERS))
    assert (run.functions, run.inputs, run.parameters, run.sizes) == ((), (), (), ())


def test_a_scalar_is_no_float_where_an_integer_is_wanted():
    program = load_program("func.func @f(%x: i32) -> i32 { return %x : i32 }")
    with pytest.raises(TunerError, match=r"input 0 must have the type i32, but has 1\.5"):
        parsed("--input", "1.5").request(program)
