"""`iree-tuner suite`: operations generated, verified, timed and compared."""

from __future__ import annotations

from cyclopts import App

from iree_tuner.cli.suite_changes import changes
from iree_tuner.cli.suite_history import app as history_app
from iree_tuner.cli.suite_report import report

app = App(
    name="suite",
    help="""Time operations on IREE and on other libraries, and see what changed (docs/suite.md).

    Example: `iree-tuner suite report results -o suite.html`
    """,
)
app.command(report)
app.command(changes)
app.command(history_app)
