"""`iree-tuner suite`, and `verify` with random operations. Each is imported when it is called."""

from iree_tuner.cli.commands import Command

SUITE = Command(
    "iree_tuner.suite.commands.suite:app",
    "Generate, verify and measure operations, and compare IREE with other libraries.",
    other_releases=True,
)
VERIFY = Command(
    "iree_tuner.suite.commands.verify:verify",
    "Check lowering configs against constraints, without compiling; or test the compiler on random ops.",
    extends=True,
)
