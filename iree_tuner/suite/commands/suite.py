"""`iree-tuner suite`: generate, verify and measure operations, and compare IREE with other libraries."""

from __future__ import annotations

from cyclopts import App

from iree_tuner.suite.commands.changes import app as history_app
from iree_tuner.suite.commands.changes import changes
from iree_tuner.suite.commands.compare import compare, report
from iree_tuner.suite.commands.operations import generate, list_
from iree_tuner.suite.commands.run import run

app = App(
    name="suite",
    help="""Generate, verify and measure operations, and compare IREE with other libraries.

    An operation is one computation with its sizes and types, such as a matmul. See docs/suite.md.

    Example: `iree-tuner suite generate --m 768 --n 512 --k 1024`
    """,
)
app.command(list_, name="list")
app.command(generate)
app.command(run)
app.command(compare)
app.command(report)
app.command(changes)
app.command(history_app)
