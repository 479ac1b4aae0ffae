"""Runs of the suite as HTML: a run, what changed, a history. One file a chart; libraries are an extra."""
