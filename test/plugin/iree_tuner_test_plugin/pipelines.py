"""Pipelines that rewrite a program before its dispatches are formed, as candidates for the whole program."""

from collections.abc import Callable, Sequence

from iree_tuner.targets import Target
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource, Found
from iree_tuner.tuning.verdict import Tuned
from iree_tuner.tuning.versions import Change, ProgramVersion

PIPELINES = {
    "channels-last": "builtin.module(util.func(iree-preprocessing-convert-conv-to-channels-last))",
    "generalize": "builtin.module(util.func(linalg-generalize-named-ops))",
}


class Pipelines(CandidateSource):
    """One of the pipelines for all of a program."""

    name = "pipelines"
    noun = "pipeline"

    def usual(self, backend: str) -> None:
        """Only where it is asked for."""

    def begin(self, run: Run) -> Callable[[], Found]:
        return _Pipelines

    def flags(self, changes: Sequence[Change]) -> tuple[str, ...]:
        (change,) = changes
        return (f"--iree-preprocessing-pass-pipeline={PIPELINES[change.how]}",)


class _Pipelines(Found):
    applies = True

    def count(self, target: Target, further: int) -> int:
        return len(PIPELINES)

    def versions(self, run: Run, tuned: Tuned, further: Sequence[Target]) -> Sequence[ProgramVersion]:
        return [
            ProgramVersion(
                f"{tuned.version.what} and {name}", tuned.target, tuned.reached,
                (Change(Pipelines.name, "", name),),
            )
            for name in PIPELINES
        ]  # fmt: skip
