"""What a kernel is: which problems it computes, and its code for one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from iree_tuner.kernels.problem import Problem
from iree_tuner.targets import Target

Knobs = Mapping[str, int]

ANY = "any"
"""In the place of a backend: of all of them."""

GROUP = "iree_tuner.kernels"
"""The entry-point group that kernels are found through."""


@dataclass(frozen=True)
class Launch:
    """How a kernel is started.

    Attributes:
        workgroups: how many, in x, y and z.
        threads: of a workgroup, in x, y and z; 1 on processors.
        shared_bytes: of dynamic shared memory for each workgroup.
    """

    workgroups: tuple[int, int, int]
    threads: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0


@dataclass(frozen=True)
class Packed:
    """Code for where an input is a constant of the program, which is packed before the program runs.

    The input is read as a matrix, one dimension of which is cut into tiles. It becomes an array of tiles, by
    the other dimension, by what is in a tile; the last tile is filled with zeros. The other dimension may be
    cut into groups, too, whose elements are then together for each one of a tile.

    Attributes:
        input: number of that input.
        matrix: its sizes as a matrix.
        dimension: which of them is cut.
        tile: how much of it is in a tile.
        code: that takes the input so, with the other bindings as they are.
        group: how many elements of the other dimension are together.
    """

    input: int
    matrix: tuple[int, int]
    dimension: int
    tile: int
    code: Code
    group: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the packed input."""
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
        data: the object or the text.
        launch: how to start it.
        scratch_bytes: of one more binding, after inputs and result, that the kernel may write anything to.
        knobs: what the code was made with.
        packed: the same for programs in which an input is a constant (`Packing`). It is not tried alone: the
            code is, in its place, and the program is checked with it.
    """

    kind: Literal["object", "ptx", "ops"]
    entry: str
    data: bytes
    launch: Launch
    scratch_bytes: int = 0
    knobs: Knobs = field(default_factory=dict[str, int])
    packed: Packed | None = None


class Kernel(Protocol):
    """A kernel, described once. Its bindings are the problem's inputs in order, and the result.

    Attributes:
        name: unique among the installed ones, equal to its entry point's.
        summary: one line for people.
        backend: the compiler backend whose programs it can be part of: `llvm-cpu` or `cuda`, or `ANY`.

    A class may also have `example = True`: it is then taken where it is named, and not by default.
    """

    name: str
    summary: str
    backend: str

    def missing(self) -> str:
        """What would have to be installed to make code; empty where all is there."""
        ...

    def refuses(self, problem: Problem) -> str:
        """Why it does not compute a problem; empty where it does."""
        ...

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """The values of its knobs that are legal for a problem, those to try first at the front."""
        ...

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Code for a problem. Raises KernelError where it cannot be made."""
        ...


@runtime_checkable
class WithTools(Protocol):
    """A kernel whose code is made by tools that are not part of its package."""

    def tools(self) -> tuple[str, ...]:
        """These tools with their versions: what others make is other code, with times of its own."""
        ...


@runtime_checkable
class Packing(Protocol):
    """A kernel that has other code for where an input is a constant. It is made for what programs use."""

    def packed(self, problem: Problem, target: Target, knobs: Knobs) -> Packed | None:
        """That code; None where packing does not help. Raises KernelError where it cannot be made."""
        ...
