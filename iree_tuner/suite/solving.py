"""z3 has one context for all threads of a process, and may be in one of them only."""

from __future__ import annotations

import threading

SOLVER = threading.Lock()
"""Held by the caller that builds or searches spaces: a run has a thread for each device."""
