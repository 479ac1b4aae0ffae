"""`python -m iree_tuner`: the command `iree-tuner`."""

from iree_tuner.cli import start

start()
