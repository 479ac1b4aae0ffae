from __future__ import annotations

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.reduce.reducer import First, ddmin

Shows = Callable[[frozenset[int]], bool]


def in_order(shows: Shows, asked: list[frozenset[int]]) -> First:
    """The first set that shows the defect, by asking about one after the other."""

    def first(sets: Iterator[frozenset[int]]) -> int | None:
        for position, each in enumerate(sets):
            asked.append(each)
            if shows(each):
                return position
        return None

    return first


@given(count=st.integers(0, 40), data=st.data())
def test_what_is_needed_is_kept_and_nothing_else(count, data):
    needed = (
        data.draw(st.frozensets(st.integers(0, max(0, count - 1)), max_size=count)) if count else frozenset()
    )
    made = ddmin(count, in_order(lambda edits: not edits & needed, []))
    assert made == frozenset(range(count)) - needed


@given(
    count=st.integers(1, 12),
    rules=st.lists(
        st.tuples(st.frozensets(st.integers(0, 11)), st.frozensets(st.integers(0, 11))), max_size=6
    ),
)
def test_any_defect_is_kept_and_no_single_edit_more_keeps_it(count, rules):
    def shows(edits: frozenset[int]) -> bool:
        """Edits that come together or not at all, so that more may show what fewer do not."""
        return all(not before <= edits or after <= edits for before, after in rules if before)

    made = ddmin(count, in_order(shows, []))
    assert shows(made)
    assert not any(shows(made | {edit}) for edit in range(count) if edit not in made)


def test_few_questions_where_little_is_needed():
    asked = []
    assert ddmin(1000, in_order(lambda edits: 777 not in edits, asked)) == frozenset(range(1000)) - {777}
    assert len(asked) < 50


def test_nothing_to_do():
    assert ddmin(0, in_order(lambda _: True, [])) == frozenset()


def test_all_at_once():
    asked = []
    assert ddmin(5, in_order(lambda _: True, asked)) == frozenset(range(5))
    assert len(asked) == 1
