"""Strategies run against recordings: no device, and the same decisions everywhere.

A strategy asks for members of the recording and hears the time that each had at first sight. What it found
is judged by the better times that the recording has of its best members. May import everything up to `store`.
"""

from iree_tuner.replay.recorded import RecordedSpace, read_recording
from iree_tuner.replay.run import Run, replay

__all__ = ["RecordedSpace", "Run", "read_recording", "replay"]
