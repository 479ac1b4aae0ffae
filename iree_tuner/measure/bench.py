"""What all candidates of a workload share on one device, sent to the measuring worker with each of them."""

from __future__ import annotations

from dataclasses import dataclass

from iree_tuner.program.bindings import Harness


@dataclass(frozen=True)
class Tolerance:
    """What decides how much results may differ; see `measure.numerics`.

    Attributes:
        accumulator_type: element type that sums are held in.
        reduction_length: how many values go into one result.
        factor_type: what factors of the last sum are rounded to, where the op computes them itself, as
            attention its probabilities; empty where all are given.
        factors: how many of them go into one result.
    """

    accumulator_type: str = "f32"
    reduction_length: int = 1
    factor_type: str = ""
    factors: int = 1


@dataclass(frozen=True)
class Bench:
    """A dispatch, a device, and the executable that results are compared with.

    Attributes:
        harness: how to run the dispatch alone.
        device: device URI.
        default: the compiler's own choice, compiled.
        tolerance: of the results.
        cold: rotate buffers through more memory than the last-level cache holds.
        check: the program that compares results on the device (`measure.check_program`), compiled; empty
            where the host compares them.
    """

    harness: Harness
    device: str
    default: bytes
    tolerance: Tolerance
    cold: bool = True
    check: bytes = b""
