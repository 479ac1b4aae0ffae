"""Kernels that are wrong, each in its way; found in tests and in workers by this module's name."""

from __future__ import annotations

import time
from dataclasses import replace

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Problem
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.targets import Target


class _Planted(CGemm):
    """The C kernel with one variant."""

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        return super().variants(problem, target)[:1]


class Transposed(_Planted):
    """It takes the right operand for its transpose."""

    name = "transposed"

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        maps = problem.workload.maps
        flipped = (maps[0], IndexingMap.through(3, (1, 2)), maps[2])
        return super().make(replace(problem, workload=replace(problem.workload, maps=flipped)), target, knobs)


class WrongGrid(_Planted):
    """It is started with one workgroup too few."""

    name = "wrong_grid"

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        code = super().make(problem, target, knobs)
        x, y, z = code.launch.workgroups
        return replace(code, launch=replace(code.launch, workgroups=(x - 1, y, z)))


class TooFar(_Planted):
    """It takes rows of the result for shorter than they are, and writes over those before."""

    name = "too_far"

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        m, n, k = problem.workload.loops
        shorter = replace(problem.workload, loops=(m, n - 1, k))
        return super().make(replace(problem, workload=shorter), target, knobs)


class Changing(_Planted):
    """It makes other code each time."""

    name = "changing"

    def __getstate__(self) -> dict[str, int]:
        """Other each time, so that no result of another call is taken for its code (`conftest.py`)."""
        return {"at": time.monotonic_ns()}

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        code = super().make(problem, target, knobs)
        return replace(code, data=code.data + time.monotonic_ns().to_bytes(8, "little"))


class NotMade(_Planted):
    """Its code cannot be made."""

    name = "not_made"

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        raise KernelError("there is no code")


class NoObject(_Planted):
    """Its code is no object."""

    name = "no_object"

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        return replace(super().make(problem, target, knobs), data=b"this is no object")


class Slow(_Planted):
    """It is right, and takes its time to be made."""

    name = "slow"

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        time.sleep(0.2)
        return super().make(problem, target, knobs)
