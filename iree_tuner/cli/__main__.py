"""`python -m iree_tuner.cli`."""

from iree_tuner.cli import start

start()
