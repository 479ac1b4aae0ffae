"""The command line, one file per command. Commands raise errors. `main` prints them in one line.

Exit status: 0 for success, 1 for a problem with the input or the result, 2 for wrong usage, 70 for an
internal error, and 128 plus the signal's number for a run that a signal ended (130 for Ctrl-C).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from types import FrameType

__all__ = ["start"]


def start(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: no other file may get this number, as something would write to it
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    before = signal.signal(signal.SIGINT, _leave)  # nothing is there to keep while modules are imported
    from iree_tuner.cli.main import main

    signal.signal(signal.SIGINT, before)
    main(arguments)


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    os.write(2, b"error: interrupted\n")
    os._exit(128 + number)
