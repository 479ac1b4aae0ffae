"""Strategies run against recordings: no device, and the same decisions everywhere.

A strategy asks for members of the recording and hears the time that each had at first sight. Its findings are
judged by the second, more exact times in the recording. May import everything up to `store`.
"""
