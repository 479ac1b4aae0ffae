"""Supplements to the compiler's convolution constraints."""

from __future__ import annotations

from iree_tuner.space.gpu.supplement import Supplement

CONVOLUTION_SUPPLEMENTS: tuple[Supplement, ...] = ()
