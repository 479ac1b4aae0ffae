"""`iree-tuner suite`. Commands have files of their own, and are imported when one of them is called."""

from iree_tuner.cli.commands import Command

SUITE = Command(
    "iree_tuner.suite.commands.suite:app",
    "Generate, verify and measure operations, and compare IREE with other libraries.",
    other_releases=True,
)
