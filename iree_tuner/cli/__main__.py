"""`python -m iree_tuner.cli`."""

from iree_tuner.cli.main import main

main()
