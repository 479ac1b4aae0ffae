"""Problems, which describe a computation as plain data, and kernels, which make code for those they state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, Protocol, cast, runtime_checkable

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.installed import brought, usable
from iree_tuner.kernels.epilogue import RowGroups
from iree_tuner.kernels.integers import Integers
from iree_tuner.kernels.nest import Nest
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload
from iree_tuner.targets import Target


class KernelError(TunerError):
    """A kernel's code cannot be made or used."""


@dataclass(frozen=True)
class Array:
    """A dense row-major array."""

    shape: tuple[int, ...]
    element_type: str

    def __str__(self) -> str:
        return "x".join((*map(str, self.shape), self.element_type))


@dataclass(frozen=True)
class View:
    """Where an operand of the root op is read: in a part of an input, which other operands may read as well.

    Attributes:
        input: number of the input.
        first: the part's first index, in each of the input's dimensions.
        loops: the workload's loops that index each of these dimensions, outer ones first.
    """

    input: int
    first: tuple[int, ...]
    loops: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class LaterKeys:
    """The last keys of an attention and their values, if other arrays have them: the new rows of a cache.

    Attributes:
        earlier: the number of keys before them.
        keys, values: where they are read. A single one is not indexed by the loop of keys.
    """

    earlier: int
    keys: View
    values: View


@dataclass(frozen=True)
class Problem:
    """A root op that starts from zeros, and the elementwise ops on its result that belong to it.

    Attributes:
        workload: the root op.
        inputs: the operands of the root op, and then the operands of the epilogue.
        result: the array that is written.
        epilogue: steps on each sum, in order. `bias` adds the next input along the last dimension,
            `channel_bias` along the second one (channels of images with channels first). `image_bias` and
            `image_channel_bias` also have the first dimension, the images. `group_bias` has a row of columns
            for each of equal groups of rows (`groups`). Names with `gain` or `minus` instead of `bias`
            multiply or subtract. `residual` adds the next input, `factor` multiplies by
            it. Steps without inputs are `scale`, `relu`, `relu_ordered` (turns NaN into 0), `at_most_6`,
            `gelu`, `gelu_tanh`, `quick_gelu`, `silu`, `sigmoid` and `truncf`. From `halves` on, steps are of
            the first half of the columns, and from `exchanged_halves` on, of the second one, until `gated`
            multiplies by the other half (`gated`). `computed` is anything else (`finish`). The last step may
            be `moved`: operands and result have other orders of dimensions in memory than the root op and the
            steps see. The workload has the orders in memory.
        scale: the factor of an attention's scores, or of the step `scale`.
        after, before: how many keys after and before its own position a query of an attention sees; None if
            it sees all.
        cap: scores are `cap * tanh(scale * product)`, a soft cap; None for plain scores.
        seen: with `moved`, the workload's loops for each dimension of the array that the other steps see.
        padding: the number of zeros before and after the first input in each dimension, if the kernel has to
            pad that input itself; otherwise empty. Kernels that cannot pad refuse such problems.
        spread: with padding, the distance of the input's elements from each other in each dimension, if there
            are zeros between them, as in a transposed convolution; otherwise empty.
        fused: for a chain of ops (`chains`), the text of a program that computes it by one op; otherwise
            empty.
        nest: for a large sum, elementwise op or chain (`split_sums`, `chains`), its loops;
            otherwise None.
        integers: for sums of integers, how operands are read and which formula follows; `epilogue` is then
            empty.
        constants: numbers of the inputs that are constants of the program. A kernel may get these packed.
        views: for an attention, where each operand is read, if one is a part of an input or two are of the
            same input; otherwise empty, and each operand is an input.
        later: the last keys of an attention, if the operands of `views` have only those before them.
        halves: of a gated product, the loop of columns that is cut into halves, in its outermost part.
        groups: where the operand of each step `group_...` is read.
        added: what is added to the scores of an attention: loops of its batch, then of queries, then of keys.
        operands: for each operand of a product that kernels compute of inputs, the loops of its dimensions;
            None for an operand that is an input. Inputs of the first operand come first. Empty if both are
            inputs.
        finish: the last step, which is `computed`: its nest has a loop for each dimension of the value before
            the moves, and one access that reads what the steps before have computed (`SUMS`).
        scanned: the dimension of a scan without further steps: its op has two results, of which this is one.
    """

    workload: Workload
    inputs: tuple[Array, ...]
    result: Array
    epilogue: tuple[str, ...] = ()
    scale: float = 1.0
    after: int | None = None
    before: int | None = None
    cap: float | None = None
    seen: tuple[tuple[int, ...], ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    spread: tuple[int, ...] = ()
    fused: bytes = b""
    integers: Integers | None = None
    constants: tuple[int, ...] = ()
    nest: Nest | None = None
    views: tuple[View, ...] = ()
    later: LaterKeys | None = None
    halves: int | None = None
    groups: tuple[RowGroups, ...] = ()
    added: Nest | None = None
    operands: tuple[Nest | None, ...] = ()
    finish: Nest | None = None
    scanned: int | None = None

    @property
    def masks(self) -> bool:
        """Whether positions decide which keys a query of an attention sees."""
        return self.after is not None or self.before is not None

    @property
    def steps(self) -> tuple[str, ...]:
        """The epilogue of sums in f32: it begins with `truncf` where those of the program are narrower."""
        sums = self.workload.types[2]
        return (*(["truncf"] if sums.is_float and sums.bits < 32 else []), *self.epilogue)

    @property
    def name(self) -> str:
        """A short, readable name like `matmul_512x768x1024_f16_f16_f32_relu`. Names are not unique."""
        causal = () if self.after is None else ("causal",)
        causal += () if self.before is None else ("windowed",)
        capped = () if self.cap is None else ("capped",)
        capped += () if self.added is None else ("added",)
        if self.operands:
            kinds = (each.element_type for each in self.inputs)
            narrow = tuple(dict.fromkeys(each for each in kinds if each.startswith("i")))
            capped += ("of", *narrow) if narrow else ("computed",)
        padded = (("spread",) if self.spread else ("padded",)) if self.padding else ()
        follows = self.integers is not None and self.integers.formula
        then = ("to", self.result.element_type) if follows else ()
        return "_".join((self.workload.name, *causal, *capped, *padded, *self.epilogue, *then))


COMPUTED = "computed"
"""The step of an epilogue that has no name of its own."""

LEAST_SCRATCH = 1 << 20
"""Bytes of scratch memory that each problem has at least."""


def scratch_room(problem: Problem) -> int:
    """Bytes of scratch memory for a problem, equal for all candidates.

    The memory of four f32 results with an eighth more for what is known of each row, at least
    `LEAST_SCRATCH`. More would disturb the rotation of data through caches. Kernels for integers pack an
    operand, which takes up to twice its memory with its padding.
    """
    operands = problem.inputs[:2] if problem.integers is not None else ()
    packed = (2 * math.prod(each.shape) for each in operands)
    return max(LEAST_SCRATCH, 18 * math.prod(problem.result.shape), *packed)


@dataclass(frozen=True)
class Conv:
    """A 2-D convolution.

    Attributes:
        batch, out_h, out_w, filters: the result's sizes.
        window_h, window_w, channels: the filter's other sizes.
        strides, dilations: along rows and along columns.
    """

    batch: int
    out_h: int
    out_w: int
    filters: int
    window_h: int
    window_w: int
    channels: int
    strides: tuple[int, int]
    dilations: tuple[int, int]

    @property
    def in_h(self) -> int:
        return (self.out_h - 1) * self.strides[0] + (self.window_h - 1) * self.dilations[0] + 1

    @property
    def in_w(self) -> int:
        return (self.out_w - 1) * self.strides[1] + (self.window_w - 1) * self.dilations[1] + 1


def loops_of_conv(
    problem: Problem, **roles: int
) -> tuple[list[tuple[int, ...]], tuple[int, ...], tuple[int, ...]] | None:
    """Loops of a static 2-D convolution by role, its strides and dilations; None for other problems.

    `roles` are the numbers of loops of all of its roles.
    """
    workload = problem.workload
    if not is_convolution(workload) or len(workload.loops) != sum(roles.values()) or workload.dynamic:
        return None
    found = [workload.role(each) for each in roles]
    strides, dilations = workload.parameter("strides"), workload.parameter("dilations")
    fits = [*map(len, found)] == [*roles.values()] and len(strides) == len(dilations) == 2
    return (found, tuple(strides), tuple(dilations)) if fits else None


def conv_of(problem: Problem, *, channels_first: bool = False) -> Conv | None:
    """The problem as a 2-D convolution of `nhwc` by `hwcf`, or of `nchw` by `fchw`; None for others."""
    found = loops_of_conv(problem, batch=1, output_channel=1, input_channel=1, output_image=2, filter=2)
    if found is None:
        return None
    ((n,), (f,), (c,), (y, x), (ky, kx)), strides, dilations = found
    read, *others = (each.dimensions for each in problem.workload.maps)
    ends, wanted = (read[0], read[-1]), [(ky, kx, c, f), (n, y, x, f)]
    if channels_first:
        ends, wanted = read[:2], [(f, c, ky, kx), (n, f, y, x)]
    if others != wanted or ends != (n, c):
        return None
    sizes = problem.workload.loops
    return Conv(
        sizes[n], sizes[y], sizes[x], sizes[f], sizes[ky], sizes[kx], sizes[c],
        (strides[0], strides[1]), (dilations[0], dilations[1]),
    )  # fmt: skip


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

    A class may also have `example = True`: the kernel is then used only where it is named. Only a class that
    has `computes_operands = True` is asked about problems with `operands`, only one that has
    `finishes = True` about problems with `finish`, and only one that has `spreads = True` about those with
    `spread`.
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


def why_not(kernel: Kernel, problem: Problem) -> str:
    """Why a kernel does not compute a problem; empty if it does."""
    if problem.operands and not getattr(kernel, "computes_operands", False):
        return "it computes no operands"
    if problem.spread and not getattr(kernel, "spreads", False):
        return "it reads no images that are spread among zeros"
    if problem.finish is not None and not getattr(kernel, "finishes", False):
        return "it computes only steps that have names"
    return kernel.refuses(problem)


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
