"""A report, to save as a file or to show in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from iree_tuner.report.view import RunReport

_FRAME_HEIGHT_PX = 900


@dataclass(frozen=True)
class Report:
    """The report of a run (see `TuningResult.report`). Notebooks display it."""

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
        """A frame, so that styles and scripts of the page and of the notebook stay apart."""
        return (
            f'<iframe srcdoc="{escape(self.html(), quote=True)}" width="100%" height="{_FRAME_HEIGHT_PX}" '
            'sandbox="allow-scripts" allow="clipboard-write" title="tuning report" '
            'style="border: 0" loading="lazy"></iframe>'
        )
