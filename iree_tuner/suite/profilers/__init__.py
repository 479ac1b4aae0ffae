"""Profilers of other runtimes, for `iree-tuner profile`."""
