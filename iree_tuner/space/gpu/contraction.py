"""Supplements to the compiler's contraction constraints."""

from __future__ import annotations

from iree_tuner.space.gpu.supplement import Supplement

CONTRACTION_SUPPLEMENTS: tuple[Supplement, ...] = ()
