"""The command line: one file a command. Commands raise; `main` turns errors into one line and a status.

Exit status: 0 done, 1 a problem with the input or the result, 2 wrong usage, 130 interrupted.
"""

from iree_tuner.cli.main import main

__all__ = ["main"]
