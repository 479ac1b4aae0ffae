"""Recognize ops around a product: casts, factors, transposes, reshapes, and the parts of a softmax."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.kernel import Problem, View
from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps
from iree_tuner.ops.workload import Workload

_LOWEST = -1e30  # a maximum starts from this or less
HIDDEN = -1e4
"""Scores of this or less have no weight in a softmax."""

CASTS = {"arith.truncf", "arith.extf"}
_REPEATING = ("linalg.fill", "linalg.broadcast", "tensor.expand_shape", "tensor.collapse_shape")


def groups_of(op: ir.Operation) -> list[list[int]]:
    """The groups of dimensions that a reshape joins or splits, as dimensions of the larger rank."""
    groups = ir.ArrayAttr(op.attributes["reassociation"])
    return [[ir.IntegerAttr(each).value for each in ir.ArrayAttr(group)] for group in groups]


def body_of(op: ir.Operation) -> str:
    """The name of the only op in the body of an elementwise op without broadcasts; otherwise empty."""
    if op.name != "linalg.generic" or len(op.regions[0].blocks[0].operations) != 2:
        return ""
    maps = indexing_maps(op)
    alike = all(each == ir.AffineMap.get_identity(each.n_dims) for each in maps)
    return op.regions[0].blocks[0].operations[0].operation.name if alike else ""


def order_of(op: ir.Operation) -> list[int] | None:
    """For each dimension of a transpose's result, the dimension of its operand; None for other ops."""
    moved = moved_by(op)
    if moved is None or None in moved or len(moved) < ir.RankedTensorType(op.result.type).rank:
        return None
    return [moved.index(each) for each in range(len(moved))]


def moved_by(op: ir.Operation) -> list[int | None] | None:
    """For each dimension of an operand, the dimension of the result, if an op transposes or repeats values.

    A dimension of size 1 that the result does not have is None. For other ops, the whole result is None.
    """
    if op.name == "linalg.transpose":
        order = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
        return [*map(order.index, range(len(order)))]
    if op.name == "linalg.broadcast":
        repeated = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        return [each for each in range(ir.RankedTensorType(op.result.type).rank) if each not in repeated]
    if not copies(op):
        return None
    source, result = indexing_maps(op)
    zero = ir.AffineExpr.get_constant(0, op.context)
    if not result.is_permutation or not all(
        each == zero or isinstance(each, ir.AffineDimExpr) for each in source.results
    ):
        return None
    loops = [ir.AffineDimExpr(each).position for each in result.results]
    own = [ir.AffineDimExpr(each).position for each in source.results if isinstance(each, ir.AffineDimExpr)]
    if len(set(own)) < len(own):
        return None
    return [
        loops.index(each.position) if isinstance(each, ir.AffineDimExpr) else None for each in source.results
    ]


def choice_of(op: ir.Operation) -> tuple[ir.Value, list[int]] | None:
    """The mask of an op that selects its second operand where the mask is true, otherwise a low number.

    Returns the mask, and for each of its dimensions the dimension of the result; None for other ops.
    """
    if op.name != "linalg.generic" or len(op.operands) < 3:
        return None
    block, (mask, scores, *_) = op.regions[0].blocks[0], op.operands
    place, own, *_ = maps = indexing_maps(op)
    step = block.operations[0].operation
    if len(block.operations) != 2 or step.name != "arith.select":
        return None
    whole = ir.AffineMap.get_identity(own.n_dims)
    if own != whole or maps[-1] != whole or not place.is_projected_permutation:
        return None
    if (
        list(step.operands)[:2] != list(block.arguments)[:2]
        or ir.RankedTensorType(scores.type).rank != own.n_dims
    ):
        return None
    other = uniform(outside(op, step.operands[2]))
    if other is None or other > HIDDEN:
        return None
    return mask, [ir.AffineDimExpr(each).position for each in place.results]


def copies(op: ir.Operation) -> bool:
    """Whether an op only moves or repeats the values of its only operand."""
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return False
    block = op.regions[0].blocks[0]
    return len(block.operations) == 1 and block.operations[0].operands[0] == block.arguments[0]


def factor_of(op: ir.Operation) -> tuple[ir.Value, float] | None:
    """The value that an elementwise op multiplies by a constant, and the constant; None for other ops."""
    if op.name != "linalg.generic" or len(op.regions[0].blocks[0].operations) < 2:
        return None
    *casts, step, _ = (each.operation for each in op.regions[0].blocks[0].operations)
    alike = all(each == ir.AffineMap.get_identity(each.n_dims) for each in indexing_maps(op))
    only_casts = {each.name for each in casts} <= CASTS
    if not alike or step.name not in ("arith.mulf", "arith.divf") or not only_casts:
        return None
    known: dict[ir.Value, float | None] = {each: uniform(outside(op, each)) for each in step.operands}
    for cast in casts:
        known[cast.result] = rounded(uniform(outside(op, cast.operands[0])), cast.result.type)
    first, second = step.operands
    number = known[second]
    if step.name == "arith.mulf" and number is None:
        first, number = second, known[first]
    first = outside(op, first)
    if not number or not isinstance(first.type, ir.RankedTensorType):
        return None
    return first, number if step.name == "arith.mulf" else 1.0 / number


def rounded(number: float | None, kind: ir.Type) -> float | None:
    """A number as a scalar of this type, by name; None for an unknown number, and for other types."""
    dtype = ElementType.of(kind).dtype if number is not None and isinstance(kind, ir.FloatType) else None
    if dtype is None or number is None:
        return None
    with np.errstate(over="ignore"):  # an infinity, as the program has it
        return float(np.asarray(number, dtype))


def outside(op: ir.Operation, value: ir.Value) -> ir.Value:
    """The operand behind an argument of an op's body; other values are returned unchanged."""
    if isinstance(value.owner, ir.Block) and value.owner == op.regions[0].blocks[0]:
        return op.operands[ir.BlockArgument(value).arg_number]
    return value


def uniform(value: ir.Value, most_steps: int = 6) -> float | None:
    """The value of a constant scalar, or of all elements of a constant tensor; None if it is not known."""
    op = producer(value)
    if op is None or not most_steps:
        return None
    if op.name == "arith.constant":
        found = op.attributes["value"]
        if isinstance(found, ir.DenseFPElementsAttr) and found.is_splat:
            found = found.get_splat_value()
        return found.value if isinstance(found, ir.FloatAttr) else None
    if op.name in _REPEATING:
        return uniform(op.operands[0], most_steps - 1)
    if op.name != "linalg.generic" or len(op.results) > 1:
        return None
    *casts, last = (each.operation for each in op.regions[0].blocks[0].operations)
    if not {each.name for each in casts} <= CASTS:
        return None
    found = {
        each: uniform(read, most_steps - 1)
        for each, read in zip(op.regions[0].blocks[0].arguments, list(op.operands)[:-1], strict=False)
    }
    for cast in casts:
        number = found.get(cast.operands[0]) or uniform(outside(op, cast.operands[0]), most_steps - 1)
        found[cast.result] = rounded(number, cast.result.type)
    # A constant from outside that is yielded is left out: it cannot be matched, and is a fill where it can.
    return found.get(last.operands[0])


def softmaxed(division: ir.Operation, keys: int) -> ir.Value | None:
    """`x` if the division is the softmax `exp(x - max) / sum` over the dimension `keys`; otherwise None."""
    powers = _over(division, "arith.divf", keys, "arith.addf", 0.0)
    exponential = producer(powers) if powers is not None else None
    if exponential is None or body_of(exponential) != "math.exp":
        return None
    difference = producer(exponential.operands[0])
    return None if difference is None else _over(difference, "arith.subf", keys, "arith.maximumf", _LOWEST)


def _over(op: ir.Operation, name: str, keys: int, reduction: str, start: float) -> ir.Value | None:
    """`x` if an op combines `x` with a reduction of the same `x` over a dimension; otherwise None."""
    block = op.regions[0].blocks[0] if op.name == "linalg.generic" else None
    if block is None or len(op.operands) != 3 or len(block.operations) != 2:
        return None
    inner, maps = block.operations[0].operation, indexing_maps(op)
    whole = ir.AffineMap.get_identity(maps[2].n_dims)
    if inner.name != name or list(inner.operands) != list(block.arguments)[:2]:
        return None
    if maps[0] != whole or maps[2] != whole:
        return None
    value, reduced, place = op.operands[0], op.operands[1], dimensions(maps[1])
    while (made := reducer(reduced)) is not None and (before := _read_at(made, place)) is not None:
        reduced, place = made.operands[0], before
    others = [each for each in range(whole.n_dims) if each != keys]
    if made is None or made.name != "linalg.generic" or combined_by(made) != reduction:
        return None
    wide = producer(made.operands[0])
    same = made.operands[0] == value
    same |= wide is not None and body_of(wide) == "arith.extf" and wide.operands[0] == value
    read, written, *_ = indexing_maps(made)  # the result may have a dimension of size 1 for the keys
    right = read == whole and dimensions(written) == place and [each for each in place if each is not None]
    return value if same and right == others and starts_with(made, start) else None


def dimensions(read: ir.AffineMap) -> list[int | None]:
    """The dimension that each result of a map is; None for a constant."""
    return [each.position if isinstance(each, ir.AffineDimExpr) else None for each in read.results]


def _read_at(op: ir.Operation, place: Sequence[int | None]) -> list[int | None] | None:
    """Where a cast, a copy, or a reshape that adds dimensions of size 1 reads; None for other ops.

    `place` are the dimensions that its result is read at.
    """
    if body_of(op) in ("arith.extf", "arith.truncf"):
        return [*place]
    if copies(op) and indexing_maps(op)[1] == ir.AffineMap.get_identity(len(place)):
        found = dimensions(indexing_maps(op)[0])
        return [None if each is None else place[each] for each in found]
    if op.name != "tensor.expand_shape":
        return None
    shape, groups = ir.RankedTensorType(op.result.type).shape, groups_of(op)
    own = [[each for each in group if shape[each] != 1] or group[:1] for group in groups]
    return [place[each[0]] for each in own] if all(len(each) == 1 for each in own) else None


def reducer(value: ir.Value) -> ir.Operation | None:
    """As `producer`; also for the first result of a reduction whose other results are not used.

    PyTorch's maxima have one, the indices.
    """
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.generic":
        return producer(value)
    first, *others = owner.results
    return owner.operation if value == first and not any(list(each.uses) for each in others) else None


def combined_by(op: ir.Operation) -> str:
    """The scalar op by which a generic op adds the elements of its only operand; empty for other bodies.

    Of several results, the first.
    """
    if op.name != "linalg.generic" or len(op.operands) != 1 + len(op.results):
        return ""
    block = op.regions[0].blocks[0]
    *steps, last = (each.operation for each in block.operations)
    step = last.operands[0].owner
    if isinstance(step, ir.Block) or (len(op.results) == 1 and len(steps) > 1):
        return ""
    return step.operation.name if {*step.operands} == {*block.arguments[:2]} else ""


def start_of(op: ir.Operation) -> float | None:
    """The number that a reduction or product starts from; None if it is not known."""
    fill = producer(op.operands[len(op.operands) - len(op.results)])
    return uniform(fill.operands[0]) if fill is not None and fill.name == "linalg.fill" else None


def starts_with(op: ir.Operation, start: float) -> bool:
    """Whether a reduction or product starts from 0 (`start` is 0), or from `start` or less."""
    found = start_of(op)
    return found is not None and (found == 0.0 if start == 0.0 else found <= start)


_Moves = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class ConvShape:
    """A convolution of images by filters, in groups.

    Attributes:
        images, out_h, out_w: number of images, and sizes of the result.
        filters, channels, groups: filters and channels of a group, and the number of groups.
        in_h, in_w: sizes of an image without the zeros around it.
        window_h, window_w: sizes of the window.
        strides, dilations: along lines and along pixels.
        low: lines and pixels of zeros before an image.
        padded: whether windows reach outside of the image.
        spread: distance of lines and of pixels from each other, among zeros that are not in the input.
        image: strides of image, line, pixel, channel and group in the input, in elements.
        filter: strides of window position, channel, filter and group in the filter, in elements.
        result: strides of image, line, pixel, filter and group in the result, in elements.
    """

    images: int
    out_h: int
    out_w: int
    filters: int
    channels: int
    groups: int
    in_h: int
    in_w: int
    window_h: int
    window_w: int
    strides: tuple[int, int]
    dilations: tuple[int, int]
    low: tuple[int, int]
    padded: bool
    spread: tuple[int, int]
    image: _Moves
    filter: tuple[int, int, int, int]
    result: _Moves

    @property
    def pixels(self) -> int:
        return self.images * self.out_h * self.out_w

    @property
    def places(self) -> int:
        return self.window_h * self.window_w

    @property
    def channels_last(self) -> bool:
        return self.image[3] == 1

    @property
    def depthwise(self) -> bool:
        """Whether nothing but the window is summed over, with one filter for each channel."""
        return self.channels == self.filters == 1 < self.groups

    def joined(self, *, images: bool) -> ConvShape:
        """The shape with lines joined, on request also images, if the convolution is a matrix product.

        Convolutions with larger windows, strides or padding stay as they are.
        """
        plain = self.places == 1 and self.strides == self.spread == (1, 1) and not self.padded
        if not plain or (self.in_h, self.in_w) != (self.out_h, self.out_w):
            return self
        size, count = self.out_h * self.out_w, 1
        if images and all(each[0] == size * each[2] for each in (self.image, self.result)):
            size, count = size * self.images, self.images
        return replace(
            self, images=self.images // count, out_h=1, out_w=size, in_h=1, in_w=size,
            image=_one_line(self.image, size, count), result=_one_line(self.result, size, count),
        )  # fmt: skip


def _one_line(moves: _Moves, size: int, images: int) -> _Moves:
    """The strides of images whose pixels are one line of `size`; `images` above 1 are joined too."""
    image, _, pixel, channel, group = moves
    line = size * pixel
    return line if images > 1 else image, line, pixel, channel, group


@dataclass(frozen=True)
class _Along:
    """One dimension of images, or the images themselves.

    Attributes:
        read, written: sizes in the input, without zeros around it, and in the result.
        window, stride, dilation, low, spread: see `ConvShape`.
        padded: whether windows reach outside.
        moves: strides in the input, in the filter and in the result, in elements.
    """

    read: int
    written: int
    moves: tuple[int, int, int]
    window: int = 1
    stride: int = 1
    dilation: int = 1
    low: int = 0
    spread: int = 1
    padded: bool = False

    def with_inner(self, other: _Along) -> _Along | None:
        """Both as one, if windows have one element of each and elements follow each other; otherwise None."""
        plain = (
            each.read == each.written and each.window == each.stride == each.spread == 1 and not each.padded
            for each in (self, other)
        )  # fmt: skip
        dense = all(self.moves[at] == other.read * other.moves[at] for at in (0, 2))
        size = self.read * other.read
        return replace(other, read=size, written=size) if all(plain) and dense else None

    def one_line(self) -> _Along:
        """The dimension of lines, of which there is one with these pixels."""
        image, filter_, result = self.moves
        return _Along(1, 1, (self.read * image, self.window * filter_, self.written * result))


def _as_images(along: Sequence[_Along]) -> tuple[_Along, _Along, _Along] | None:
    """Images, lines and pixels, from dimensions of which some can be joined; None if too many are left."""
    left = [*along]
    if len(left) == 2:
        left.insert(1, left[1].one_line())
    while len(left) > 3:
        pairs = ((at, left[at].with_inner(left[at + 1])) for at in range(len(left) - 1))
        at, both = next((pair for pair in pairs if pair[1] is not None), (0, None))
        if both is None:
            return None
        left[at : at + 2] = [both]
    return left[0], left[1], left[2]


def conv_shape(problem: Problem) -> ConvShape | None:
    """The problem as a 2-D convolution; None if it is none.

    A convolution over one dimension has images of one line, a depthwise one groups of one channel and filter.
    One over three dimensions has a window of one element along some, which are joined with others.
    """
    workload = problem.workload
    if not is_convolution(workload) or workload.dynamic:
        return None
    names = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
    roles = [workload.role(each) for each in names]
    counts = [*map(len, roles)]
    around = [*counts[:2], counts[3]], counts[2:6:2], counts[5]
    if around[0] not in ([1, size, size] for size in (1, 2, 3)) or around[1:] not in (
        ([1, 1], 0), ([1, 1], 1), ([0, 0], 1),
    ):  # fmt: skip
        return None
    (n,), out, filters, window, channels, depth = roles
    f, c, group = (each[0] if each else -1 for each in (filters, channels, depth))
    whole = problem.inputs[0].shape  # groups and channels may be joined in it, and in the result
    sources = _sources(workload, whole)
    sizes = workload.loops
    shapes = [tuple(size for _, size in sources), problem.inputs[1].shape,
              tuple(sizes[each] for each in workload.maps[2].loops)]  # fmt: skip
    image, filter_, result = (_moves(*each) for each in zip(workload.maps, shapes, strict=True))
    places = [_dimension(workload.maps[0], {*each}) for each in zip(out, window, strict=True)]
    padding = [(problem.padding or ((0, 0),) * len(whole))[at] for at, _ in sources]
    apart = [(problem.spread or (1,) * len(whole))[at] for at, _ in sources]
    zeros = [at for at, each in enumerate(padding) if any(each) or apart[at] > 1]
    if None in places or not {*zeros} <= {*places}:
        return None
    along = [_Along(sizes[n], sizes[n], (image.get(n, 0), 0, result.get(n, 0)))]
    parameters = workload.parameter("strides"), workload.parameter("dilations")
    for at, own, inner, stride, dilation in zip(places, out, window, *parameters, strict=True):
        assert at is not None
        moves = math.prod(shapes[0][at + 1 :]), filter_.get(inner, 0), result.get(own, 0)
        around_it = padding[at][0], apart[at], at in zeros
        along.append(_Along(shapes[0][at], sizes[own], moves, sizes[inner], stride, dilation, *around_it))
    if (found := _as_images(along)) is None:
        return None
    every, line, pixel = found
    if line.window > 1 and line.moves[1] != pixel.moves[1] * pixel.window:
        return None
    each_group = [math.prod(sizes[at] for at in own) for own in (filters, channels, depth)]
    return ConvShape(
        every.read, line.written, pixel.written, each_group[0], each_group[1], each_group[2], line.read,
        pixel.read, line.window, pixel.window, (line.stride, pixel.stride), (line.dilation, pixel.dilation),
        (line.low, pixel.low), bool(zeros), (line.spread, pixel.spread),
        (every.moves[0], line.moves[0], pixel.moves[0], image.get(c, 0), image.get(group, 0)),
        (pixel.moves[1], filter_.get(c, 0), filter_.get(f, 0), filter_.get(group, 0)),
        (every.moves[2], line.moves[2], pixel.moves[2], result.get(f, 0), result.get(group, 0)),
    )  # fmt: skip


def _sources(workload: Workload, shape: Sequence[int]) -> list[tuple[int, int]]:
    """For each dimension that a convolution reads: the image's dimension, and the part of its size."""
    read = workload.maps[0].results
    if len(read) == len(shape):
        return [*enumerate(shape)]
    found, at, left = list[tuple[int, int]](), -1, 1
    for index in read:
        at, left = (at + 1, shape[at + 1]) if left == 1 else (at, left)
        size = left if index.loop is None else workload.loops[index.loop]
        found.append((at, size))
        left //= size
    return found


def _moves(map_: IndexingMap, shape: Sequence[int]) -> dict[int, int]:
    """The stride of each loop in a dense array, in elements."""
    found: dict[int, int] = {}
    for at, index in enumerate(map_.results):
        for loop, factor in index.terms:
            found[loop] = found.get(loop, 0) + factor * math.prod(shape[at + 1 :])
    return found


def _dimension(map_: IndexingMap, loops: Set[int]) -> int | None:
    """The dimension that exactly these loops index together; None if there is none."""
    found = (at for at, index in enumerate(map_.results) if {loop for loop, _ in index.terms} == loops)
    return next(found, None)


_SCALE_OF_SCORES = 3  # operand of attention
_AXES = {"Q": ("m", "k1"), "K": ("k2", "k1"), "V": ("k2", "n"), "BIAS": ("m", "k2"), "OUT": ("m", "n")}


@dataclass(frozen=True)
class AttentionShape:
    """Sizes and strides, in elements, of an attention.

    Attributes:
        batch: sizes of the batch's loops.
        m, n, k1, k2: number of queries, width of values, width of heads, number of keys.
        batch_steps: by array (`Q`, `K`, `V`, `OUT`, and `BIAS` for a bias or a mask), the stride of each of
            the batch's loops; 0 if the array does not depend on the loop.
        steps: by array, the strides of rows and of columns; 0 if all rows have the same bias.
        sources: by array that is read, the number of the problem's input.
        starts: by array that is read, the position of its first element in that input.
        earlier: the number of keys in `K` and `V`. Others behind these are in `K_LATER` and `V_LATER`.
    """

    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    batch_steps: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, tuple[int, int]]
    sources: Mapping[str, int]
    starts: Mapping[str, int]
    earlier: int


def attention_shape(problem: Problem) -> AttentionShape | None:
    """The shape of a problem; None if it is not an attention, or has several loops of one role."""
    workload = problem.workload
    if not is_attention(workload) or workload.dynamic:
        return None
    if any(len(workload.role(role)) != 1 for role in ("m", "n", "k1", "k2")):
        return None
    sizes, batch = workload.loops, workload.role("batch")
    batch_steps: dict[str, tuple[int, ...]] = {}
    steps: dict[str, tuple[int, int]] = {}
    maps = [each for number, each in enumerate(workload.maps) if number != _SCALE_OF_SCORES]
    names = [name for name in _AXES if name != "BIAS" or len(maps) == len(_AXES)]
    views = problem.views or tuple(View(at, (), (each.loops,)) for at, each in enumerate(maps[:-1]))
    later = problem.later
    every = [*zip(names, (*views, View(0, (), (maps[-1].loops,))), strict=True)]
    every += [] if later is None else [("K_LATER", later.keys), ("V_LATER", later.values)]
    starts: dict[str, int] = {}
    for name, view in every:
        row, column = _AXES[name.removesuffix("_LATER")]
        shape = problem.inputs[view.input].shape if problem.views and name != "OUT" else ()
        own, starts[name] = _positions(view, shape, sizes)
        batch_steps[name] = tuple(own.get(loop, 0) for loop in batch)
        steps[name] = own.get(workload.role(row)[0], 0), own[workload.role(column)[0]]
    del starts["OUT"]
    sources = {name: view.input for name, view in every if name != "OUT"}
    m, n, k1, k2 = (workload.sizes(role)[0] for role in ("m", "n", "k1", "k2"))
    return AttentionShape(
        workload.sizes("batch"), m, n, k1, k2, batch_steps, steps, sources, starts,
        k2 if later is None else later.earlier,
    )  # fmt: skip


def _positions(view: View, shape: Sequence[int], sizes: Sequence[int]) -> tuple[dict[int, int], int]:
    """The stride of each loop in the array of a view, and the position of the view's first element.

    `shape` is the array's; of a dense array of all loops, it may be left out.
    """
    steps: dict[int, int] = {}
    for at, loops in enumerate(view.loops):
        inner = math.prod(shape[at + 1 :])
        steps |= {loop: inner * math.prod(sizes[each] for each in loops[place + 1 :])
                  for place, loop in enumerate(loops)}  # fmt: skip
    return steps, sum(first * math.prod(shape[at + 1 :]) for at, first in enumerate(view.first))
