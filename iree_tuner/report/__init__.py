"""A run as one HTML file: what was gained, where the time goes, how the search went (docs/report.md).

May import everything up to `tuning`. Drawing needs altair, vl-convert and jinja2, which are imported when a
page is made; gathering what it shows needs none of them.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.report.report import Report
    from iree_tuner.report.view import report_of_run, use_of

__all__ = ["Report", "report_of_run", "use_of"]

__getattr__ = lazily(__name__, {"Report": "report", "report_of_run": "view", "use_of": "view"})
