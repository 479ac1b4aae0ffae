"""`iree-tuner script`, and `run` and `bench` with a codegen script. Each is imported when it is called."""

from iree_tuner.cli.commands import Command

SCRIPT = Command(
    "iree_tuner.script.commands.script:app",
    "List, link and inspect codegen scripts in the transform dialect.",
)
RUN = Command(
    "iree_tuner.script.commands.run:run",
    "Run a program once, print its results, and check them against a reference.",
    extends=True,
)
BENCH = Command(
    "iree_tuner.script.commands.bench:bench",
    "Measure a program's run time. With a spec or a codegen script, compare it with the baseline.",
    extends=True,
)
