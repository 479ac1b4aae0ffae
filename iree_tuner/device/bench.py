"""The data that all candidates of a workload share on one device, sent to the measuring worker with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree_tuner.device.data import Kind
from iree_tuner.program.bindings import Harness


@dataclass(frozen=True)
class Tolerance:
    """The numbers that decide how much results may differ; see `device.numerics`.

    Attributes:
        accumulator_type: element type of sums.
        reduction_length: the number of values in one result.
        factor_type: type that factors of the last sum are rounded to, if the op computes them itself, like
            attention its probabilities; empty if all are given.
        factors: the number of them in one result.
        softmax: the factors are probabilities; among scores with outliers, only a few of them count.
    """

    accumulator_type: str = "f32"
    reduction_length: int = 1
    factor_type: str = ""
    factors: int = 1
    softmax: bool = False

    def on(self, kind: Kind) -> Tolerance:
        """The tolerance of results for values of a kind."""
        return replace(self, factors=1) if self.softmax and kind == "outliers" else self


@dataclass(frozen=True)
class Bench:
    """A dispatch, a device, and the executable that results are compared with.

    Attributes:
        harness: how to run the dispatch alone.
        device: device URI.
        default: the compiler's own choice, compiled.
        tolerance: of the results.
        cold: rotate buffers through more memory than the last-level cache holds.
        check: the compiled program that compares results on the device (`check.check_program`); empty if the
            host compares them.
        by_reference: compare results with the interpreter's, if it has any: the default is not the program's
            own code, but replaces several of its dispatches.
        references: prefix of files with the interpreter's results; or empty.
    """

    harness: Harness
    device: str
    default: bytes
    tolerance: Tolerance
    cold: bool = True
    check: bytes = b""
    by_reference: bool = False
    references: str = ""

    def elsewhere(self, harness: Harness, default: bytes) -> Bench:
        """The bench of another dispatch of the same workload, without data for this one's harness."""
        return replace(self, harness=harness, default=default, check=b"", references="")


@dataclass(frozen=True)
class JointBench:
    """Several dispatches that one candidate replaces, measured as if they were one.

    Attributes:
        parts: the dispatches.
        calls: how often a program calls each.
        device: device URI, for all of them.
        default: the compiler's own choices, joined.
        cold: see `Bench`.
    """

    parts: tuple[Bench, ...]
    calls: tuple[int, ...]
    device: str
    default: bytes
    cold: bool = True

    @classmethod
    def of(cls, parts: Sequence[Bench], calls: Sequence[int]) -> JointBench:
        """Join benches on one device."""
        default = joined([part.default for part in parts])
        return cls(tuple(parts), tuple(calls), parts[0].device, default, parts[0].cold)

    def each(self, vmfb: bytes) -> list[tuple[bytes, Bench, int]]:
        """The joined executables, each with its bench on this device and its calls."""
        own = [replace(part, device=self.device) for part in self.parts]
        return list(zip(_split(vmfb), own, self.calls, strict=True))


def joined(executables: Sequence[bytes]) -> bytes:
    """Executables of several dispatches, as one."""
    return b"".join(len(each).to_bytes(8, "little") + each for each in executables)


def _split(executables: bytes) -> list[bytes]:
    found: list[bytes] = []
    while executables:
        end = 8 + int.from_bytes(executables[:8], "little")
        found.append(executables[8:end])
        executables = executables[end:]
    return found
