"""Tables at any width: nothing is broken that is short, nothing is lost, no line is too long."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from iree_tuner.cli.output import SafeConsole
from iree_tuner.cli.table import print_table, table

NAMES = ("workload", "share", "tried", "default us", "tuned us", "speedup (interval)", "verdict")


def printed(made, width, **how):
    out = io.StringIO()
    print_table(Console(file=out, width=width), made, **how)
    return out.getvalue()


def tuned(*workloads):
    made = table(*NAMES, words=("workload",))
    for each in workloads:
        made.add_row(each, "23.4%", "1066", "10366.9", "10289.1", "1.27x (1.26 to 1.28)", "not judged")
    return made


@given(st.text("abc_xyz[]/\\ ", min_size=1, max_size=120), st.integers(80, 200))
def test_what_is_short_is_whole_and_what_is_long_is_folded(workload, width):
    lines = printed(tuned(workload), width).splitlines()
    assert max(map(len, lines)) <= width
    rest = "".join(lines[1:])
    for each in ("23.4%", "1066", "10366.9", "10289.1", "1.27x (1.26 to 1.28)", "not judged"):
        assert rest.count(each) == 1
        rest = rest.replace(each, "")
    assert rest.replace(" ", "") == workload.replace(" ", "")


def test_names_with_control_codes_stay_on_one_line():
    assert "a\\nb\\x1b[31m\\tc" in printed(tuned("a\nb\x1b[31m\tc"), 120)


def test_columns_that_are_spare_go_one_by_one_where_there_is_no_room():
    workload, spare = "matmul_2048x10240x1280_f16_f16_f32", ("default us", "tuned us", "tried")
    wide = printed(tuned(workload), 120, spare=spare)
    assert all(name in wide for name in NAMES)
    narrow = printed(tuned(workload), 96, spare=spare)
    assert "default us" not in narrow
    assert "tried" in narrow
    assert max(map(len, printed(tuned(workload), 80, spare=spare).splitlines())) <= 80


def test_an_empty_table_says_so():
    assert printed(table("a", "b"), 80, otherwise="no studies") == "no studies\n"
    assert printed(table("a", "b"), 80).split() == ["a", "b"]


def test_brackets_are_text():
    made = table("knobs", words=("knobs",))
    made.add_row("[bold]workgroup=[64, 32][/nothing]")
    assert "[bold]workgroup=[64, 32][/nothing]" in printed(made, 80, spare=("knobs",))


def test_rows_of_several_lines_stand_apart():
    made = table("cell", words=("cell",), apart=True)
    made.add_row("one\ntwo")
    made.add_row("three")
    assert printed(made, 80).rstrip().splitlines()[-3:] == ["two  ", "     ", "three"]


@pytest.mark.parametrize("width", range(17, 24))
def test_short_columns_are_whole_at_their_least_width(width):
    made = table("run", "commit", "ok", "name", words=("name",))
    made.add_row("2026-11", "0123456789", "6", "a bc")
    assert printed(made, width, spare=("commit",)).split() == ["run", "ok", "name", "2026-11", "6", "a", "bc"]


def test_tables_in_a_pipe_have_80_columns_and_whole_names(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    words = " ".join(["word"] * 40)
    for columns, name, widest in ((None, "short", 80), (None, "n" * 90, 96), ("120", "n" * 90, 120)):
        if columns:
            monkeypatch.setenv("COLUMNS", columns)
        made, out = table("name", "what", words=("name", "what")), io.StringIO()
        made.add_row(name, words)
        print_table(SafeConsole(file=out, width=200), made)
        assert widest - 5 < max(map(len, out.getvalue().splitlines())) <= widest
        assert name in out.getvalue()
