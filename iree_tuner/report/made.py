"""A report, to save as a file or to show in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from iree_tuner.measure.program import ProgramComparison
from iree_tuner.report.bodies import conditions_body, whole_body, workload_body
from iree_tuner.report.data import ReportedRun, RunReport
from iree_tuner.report.gather import Tried, gather
from iree_tuner.store.findings import Finding
from iree_tuner.targets import Target
from iree_tuner.tuning.candidate import setting_on
from iree_tuner.tuning.result import WorkloadResult

_FRAME_HEIGHT_PX = 900


@dataclass(frozen=True)
class Report:
    """The report of a run (see `TuningResult.report`). Notebooks display it.

    Attributes:
        data: what it shows.
    """

    data: RunReport

    def html(self) -> str:
        """Render the page, which needs no network. Raises TunerError if a library for charts is missing."""
        from iree_tuner.report.page import page_of  # its libraries are an extra, and take a second to import

        return page_of(self.data)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file. Raises TunerError if that fails."""
        from iree_tuner.report.page import save

        return save(self.html(), Path(path))

    def _repr_html_(self) -> str:
        """A frame of its own, so that styles and scripts of the page and the notebook do not meet."""
        return (
            f'<iframe srcdoc="{escape(self.html(), quote=True)}" width="100%" height="{_FRAME_HEIGHT_PX}" '
            'sandbox="allow-scripts" allow="clipboard-write" title="tuning report" '
            'style="border: 0" loading="lazy"></iframe>'
        )


def report_of(
    program: str,
    target: Target,
    results: Sequence[WorkloadResult],
    *,
    whole: ProgramComparison | None = None,
    note: str = "",
    findings: Sequence[Finding] = (),
    options: Mapping[str, object] | None = None,
    state: str = "done",
) -> Report:
    """A report of a run that is in memory.

    Args:
        program: its name.
        target: what it was tuned for, on this machine.
        results: one for each workload.
        whole: the program with and without the spec.
        note: why there is no `whole`, or why winners were dropped.
        findings: what else is known. One object of a kind, and one of a workload, stand for the data in the
        arguments.
        options: what the run was started with.
        state: `done` or `interrupted`.

    Raises:
        TunerError: a library for drawing is missing.
    """
    from iree_tuner.report.page import check_installed

    check_installed()
    setting = setting_on(target)
    own = [Finding("workload", workload_body(result)) for result in results]
    own.append(Finding("conditions", conditions_body(setting, _trials(results))))
    if whole is not None or note:
        comparison, function = (whole.comparison, whole.called) if whole else (None, "")
        own.append(Finding("whole", whole_body(comparison, function, note=note)))
    tried = [
        Tried(
            result.task.workload.key, result.task.workload.name, result.trials,
            size=result.space_count or None, judged=result.comparison, setting=setting,
        )
        for result in results
        if result.trials
    ]  # fmt: skip
    # Of several, the last counts, and findings have times.
    given = [Finding(each.kind, each.body, max(each.at, 1.0)) for each in findings]
    return Report(gather(ReportedRun(program, options=options or {}, state=state), [*own, *given], tried))


def _trials(results: Sequence[WorkloadResult]):  # noqa: ANN202
    return (trial for result in results for trial in result.trials)
