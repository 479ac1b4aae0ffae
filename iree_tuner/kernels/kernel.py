"""The protocol of kernels, which state the problems that they compute and make code for one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, Protocol, cast, runtime_checkable

from iree_tuner.errors import UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.kernels.problem import Problem
from iree_tuner.targets import Target

Knobs = Mapping[str, int]

ANY = "any"
"""A value of `Kernel.backend`: the kernel works with all backends."""

GROUP = "iree_tuner.kernels"
"""The entry-point group of kernels."""


@dataclass(frozen=True)
class Launch:
    """The launch parameters of a kernel: workgroups, and threads of each (1 on CPUs), in x, y and z.

    `shared_bytes` is dynamic shared memory of a workgroup.
    """

    workgroups: tuple[int, int, int]
    threads: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0


@dataclass(frozen=True)
class Packed:
    """Code for programs in which an input is a constant, which is packed before the program runs.

    The input is read as a matrix, and one of its dimensions is cut into tiles. The packed array has the
    dimensions [tiles, other dimension, tile]; the last tile is filled up with zeros. The other dimension may
    be cut into groups, which become an additional innermost dimension.

    Attributes:
        input: number of the packed input.
        matrix: the input's sizes as a matrix.
        dimension: the dimension that is cut into tiles, 0 or 1.
        tile: size of a tile.
        code: takes the packed input; the other bindings stay as they are.
        group: size of the other dimension's groups; 1 without groups.
    """

    input: int
    matrix: tuple[int, int]
    dimension: int
    tile: int
    code: Code
    group: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the packed input."""
        tiles = -(-self.matrix[self.dimension] // self.tile)
        others = -(-self.matrix[1 - self.dimension] // self.group)
        return tiles, others, self.tile, *((self.group,) if self.group > 1 else ())


@dataclass(frozen=True)
class Code:
    """A kernel's code for one problem.

    Attributes:
        kind: `object`, a relocatable object for the linker, `ptx`, NVIDIA's assembly as text, or `ops`, a
            program with one function that the compiler generates code for.
        entry: the symbol to call. An object's is a C function that takes a pointer for each binding, and then
            the workgroup's number in x, y and z as 64-bit integers; PTX's takes a pointer for each binding.
        takes_worker: the object's function takes one more argument, the number of the worker as an unsigned
            32-bit integer, and returns a 64-bit integer that is ignored.
        data: the object or the text.
        launch: the launch parameters.
        scratch_bytes: size of an additional binding of scratch memory, after inputs and result.
        knobs: the values of the knobs that the code was made with.
        packed: code for programs in which an input is a constant (`Packing`). Contests time the unpacked
            code; programs run and are checked with the packed code.
        parts: if it is not 0, the code writes as many parts of each sum, as [*result, parts]. Ops after the
            code add them up.
    """

    kind: Literal["object", "ptx", "ops"]
    entry: str
    data: bytes
    launch: Launch
    scratch_bytes: int = 0
    knobs: Knobs = field(default_factory=dict[str, int])
    packed: Packed | None = None
    parts: int = 0
    takes_worker: bool = False


class Kernel(Protocol):
    """A kernel. The bindings of its code are the problem's inputs in order, and then the result.

    Attributes:
        name: unique among installed kernels, and equal to the name of the entry point.
        summary: a description in one line, for users.
        backend: the compiler backend whose programs can use it: `llvm-cpu` or `cuda`, or `ANY`.

    A class may also have `example = True`: the kernel is then used only where it is named.
    """

    name: str
    summary: str
    backend: str

    def missing(self) -> str:
        """The tools that have to be installed to make code; empty if all are there."""
        ...

    def refuses(self, problem: Problem) -> str:
        """Why the kernel does not compute a problem; empty if it does."""
        ...

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """The legal choices of knobs for a problem, most promising first."""
        ...

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Make code for a problem. Raises KernelError if that fails."""
        ...


@runtime_checkable
class WithTools(Protocol):
    """A kernel whose code is made by tools that are not part of its package."""

    def tools(self) -> tuple[str, ...]:
        """The tools with their versions. Times of code from other versions are not reused."""
        ...


@runtime_checkable
class Packing(Protocol):
    """A kernel with other code for constant inputs, which is made only for kernels that go into programs."""

    def packed(self, problem: Problem, target: Target, knobs: Knobs) -> Packed | None:
        """Make code for a packed input; None if packing does not help. Raises KernelError if that fails."""
        ...


@cache
def kernels() -> tuple[Kernel, ...]:
    """All installed kernels. Raises TunerError if two packages have kernels of the same name."""
    return tuple(cast(Kernel, usable(entry, "kernel")) for entry in brought(GROUP, "kernel").values())


def usual_kernels(backend: str) -> tuple[Kernel, ...]:
    """The kernels for a backend without examples, which are used only where they are named."""
    found = (each for each in kernels() if each.backend in (ANY, backend))
    return tuple(each for each in found if not getattr(each, "example", False))


def kernel_named(name: str) -> Kernel:
    """The kernel of that name. Raises UsageError if there is none."""
    for each in kernels():
        if each.name == name:
            return each
    raise UsageError(f"unknown kernel '{name}'", hint=", ".join(each.name for each in kernels()))
