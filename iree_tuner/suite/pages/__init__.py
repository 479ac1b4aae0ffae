"""Runs of the suite as HTML: a run, changes between two, a history. The libraries for charts are an extra."""
