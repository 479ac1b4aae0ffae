"""Supplements to the compiler's attention constraints."""

from __future__ import annotations

from iree_tuner.space.gpu.supplement import Supplement

ATTENTION_SUPPLEMENTS: tuple[Supplement, ...] = ()
