"""Candidates to executables and times, in workers: building, loading, sampling, and statistics.

One measuring worker a device. Every failure is a value. `check` says whether numbers are right, and nothing
here knows of a search.
"""
