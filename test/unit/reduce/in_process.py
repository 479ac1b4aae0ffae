"""A lab without processes: what tests judge by is a function."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import Answer, Candidate, count, edited, printed


class InProcess:
    """See `reduce.reducer.InWorkers`.

    Args:
        shows: whether a module, as text, shows the defect.
        jobs: how many candidates are made at a time.
    """

    def __init__(self, shows: Callable[[str], bool], jobs: int = 3) -> None:
        self.jobs = jobs
        self.shows = shows
        self.asked: list[str] = []

    def printed(self, program: Program) -> Candidate:
        return printed(program)

    def count(self, text: str, step: int) -> int:
        return count(text, step)

    def edited(self, text: str, step: int, sets: Sequence[frozenset[int]]) -> list[Candidate | None]:
        return [edited(text, step, each) for each in sets]

    def judged(self, contents: Sequence[bytes], suffix: str = ".mlir") -> Generator[Answer]:
        del suffix
        for content in contents:
            self.asked.append(content.decode())
            shows = self.shows(content.decode())
            yield Answer(shows, 0 if shows else 1, "told")
