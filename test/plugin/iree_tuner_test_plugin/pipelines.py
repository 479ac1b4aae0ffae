"""Pipelines that rewrite a program before its dispatches are formed, as candidates for the whole program."""

from collections.abc import Sequence

from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.versions import Change

PIPELINES = {
    "channels-last": "builtin.module(util.func(iree-preprocessing-convert-conv-to-channels-last))",
    "generalize": "builtin.module(util.func(linalg-generalize-named-ops))",
}


class Pipelines(CandidateSource):
    """One of the pipelines, or none."""

    name = "pipelines"
    noun = "pipeline"

    def usual(self, backend: str) -> None:
        """Only where it is asked for."""

    def alternatives(self, run: Run) -> Sequence[Change]:
        """Each of them, for all of the program."""
        return [Change(self.name, where="", how=name) for name in PIPELINES]

    def flags(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """The flag that runs the one that is chosen."""
        (change,) = changes
        return (f"--iree-preprocessing-pass-pipeline={PIPELINES[change.how]}",)
