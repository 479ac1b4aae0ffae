"""`iree-tuner spec reduce`, which has a file of its own and is imported when it is called."""

from iree_tuner.cli.commands import Command

REDUCE = Command(
    "iree_tuner.reduce.commands.reduce:reduce",
    "Shrink a program or a spec that triggers a defect. A command of yours tests each candidate.",
)
