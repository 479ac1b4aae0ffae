"""The data that all candidates of a workload share on one device, sent to the measuring worker with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Harness


@dataclass(frozen=True)
class Case:
    """The computation of a dispatch, as a program for the host's processor.

    `vmfb` has a function `main` from the dispatch's inputs, in the harness's order, to its result; f16 and
    bf16 are f32 in it. It is empty if there is none: then the interpreter's results are taken, if it has any.
    """

    vmfb: bytes
    shapes: tuple[tuple[int, ...], ...] = ()  # of the inputs


@dataclass(frozen=True)
class Bench:
    """A dispatch, a device, and the executable that results are compared with."""

    harness: Harness  # how to run the dispatch alone
    device: str  # device URI
    default: bytes  # the compiler's own choice, compiled
    tolerance: Tolerance  # of the results
    cold: bool = True  # rotate buffers through more memory than the last-level cache holds
    # the compiled program that compares results on the device (`check.check_program`); empty if the host
    # compares them
    check: bytes = b""
    # the same computation as a program for the host's processor, with its sizes of the inputs: results are
    # compared with this program's, as the default is not the program's own code, but replaces several of its
    # dispatches; None where the default is the program's own
    case: Case | None = None
    references: str = ""  # prefix of files with the interpreter's results; or empty

    def elsewhere(self, harness: Harness, default: bytes) -> Bench:
        """The bench of another dispatch of the same workload, without data for this one's harness."""
        return replace(self, harness=harness, default=default, check=b"", references="")


@dataclass(frozen=True)
class JointBench:
    """Several dispatches that one candidate replaces, measured as if they were one."""

    parts: tuple[Bench, ...]  # the dispatches
    calls: tuple[int, ...]  # how often a program calls each
    device: str  # device URI, for all of them
    default: bytes  # the compiler's own choices, joined
    cold: bool = True  # see `Bench`

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
