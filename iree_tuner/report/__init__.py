"""A run as one HTML file: what was gained, where the time goes, how the search went (docs/report.md).

May import everything up to `tuning`. Drawing needs altair, vl-convert and jinja2, which are imported when a
page is made; gathering what it shows needs none of them.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.report.bodies import conditions_body, use_body, whole_body, workload_body
    from iree_tuner.report.made import Report, report_of
    from iree_tuner.report.stored import report_of_run

__all__ = [
    "Report",
    "conditions_body",
    "report_of",
    "report_of_run",
    "use_body",
    "whole_body",
    "workload_body",
]

_HOMES = {
    "Report": "made",
    "conditions_body": "bodies",
    "report_of": "made",
    "report_of_run": "stored",
    "use_body": "bodies",
    "whole_body": "bodies",
    "workload_body": "bodies",
}

__getattr__ = lazily(__name__, _HOMES)
