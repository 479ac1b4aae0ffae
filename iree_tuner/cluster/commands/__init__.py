"""`iree-tuner worker` and `iree-tuner cluster`. Their file is imported when one of them is called."""

from iree_tuner.cli.commands import Command

WORKER = Command(
    "iree_tuner.cluster.commands.cluster:worker",
    "Start a worker that compiles and measures for `tune --scheduler`. Stop it with Ctrl-C.",
)
CLUSTER = Command(
    "iree_tuner.cluster.commands.cluster:cluster",
    "List a cluster's workers with their compile slots, devices and current work.",
)
