"""`iree-tuner suite`: operations generated, verified, timed, and compared with other libraries."""

from __future__ import annotations

from cyclopts import App

from iree_tuner.cli.suite_generate import generate
from iree_tuner.cli.suite_list import list_

app = App(
    name="suite",
    help="""Generate operations, verify and time them, and compare IREE with other libraries (docs/suite.md).

    Example: `iree-tuner suite generate --m 768 --n 512 --k 1024`
    """,
)
app.command(generate)
app.command(list_, name="list")
