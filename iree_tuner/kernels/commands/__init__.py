"""`iree-tuner kernel`. A command has a file of its own, and is imported when it is called."""

from iree_tuner.cli.commands import Command

KERNEL = Command(
    "iree_tuner.kernels.commands.kernel:app",
    "List, measure and use external kernels in place of compiled dispatches.",
)
